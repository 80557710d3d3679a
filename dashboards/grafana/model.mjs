// The parts of Grafana's dashboard model (schema 39: Grafana 10.4 and newer) that dashboard.mjs uses.

/** The data source chosen above the panels. */
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** The colours and styles that the live page's lines have. */
const COLOURS = {
  old: '#E0752D',
  new: '#3F7FC4',
  good: '#56A64B',
  bad: '#E02F44',
  other: '#8F74B8',
};
const DASHES = { dashed: [10, 6], dotted: [2, 6] };

/** Colours and dashes for the lines that have some. */
const overrides = (lines) =>
  lines
    .filter(([, , look]) => look)
    .map(([legend, , { colour, style }]) => ({
      matcher: { id: 'byName', options: legend },
      properties: [
        { id: 'color', value: { mode: 'fixed', fixedColor: COLOURS[colour] } },
        ...(style
          ? [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: DASHES[style] } }]
          : []),
      ],
    }));

/** `lines` are legend, PromQL, and maybe a look. */
const targets = (lines, more) =>
  lines.map(([legendFormat, expr], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: DATASOURCE,
    expr,
    legendFormat,
    editorMode: 'code',
    ...more,
  }));

function panel(type, { title, description, unit, width, height = 8, lines }, query = {}) {
  if (!(title && description && unit && lines.length > 0 && lines.flat().every(Boolean))) {
    throw new Error(`panel ${title}: needs a title, a description, a unit and legends`);
  }
  return {
    type,
    title,
    description,
    datasource: DATASOURCE,
    // arrange() sets x and y.
    gridPos: { x: 0, y: 0, w: width, h: height },
    fieldConfig: { defaults: { unit, noValue: 'no data' }, overrides: [] },
    options: {},
    targets: targets(lines, query),
  };
}

/** Large numbers side by side, with their curves in the background. A number without data takes no room. */
export function numbers({
  decimals = 1,
  steps = [[null, 'text']],
  textMode = 'value_and_name',
  ...given
}) {
  const made = panel('stat', { height: 5, ...given }, { range: true });
  Object.assign(made.fieldConfig.defaults, {
    decimals,
    thresholds: { mode: 'absolute', steps: steps.map(([value, color]) => ({ value, color })) },
  });
  made.options = {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'value',
    graphMode: 'area',
    justifyMode: 'auto',
    orientation: 'auto',
    textMode,
  };
  return made;
}

/** Curves. `log` is for values that differ by powers of ten; `exemplars` marks requests with ids. */
export function curves({ width = 8, log = false, max, exemplars = false, ...given }) {
  const made = panel('timeseries', { width, ...given }, { range: true, exemplar: exemplars });
  made.fieldConfig = {
    defaults: {
      ...made.fieldConfig.defaults,
      ...(log ? {} : { min: 0 }),
      ...(max === undefined ? {} : { max }),
      custom: {
        drawStyle: 'line',
        lineWidth: 2,
        fillOpacity: 5,
        showPoints: 'never',
        // Missing samples show as a gap.
        spanNulls: false,
        scaleDistribution: log ? { type: 'log', log: 10 } : { type: 'linear' },
      },
    },
    overrides: overrides(given.lines),
  };
  made.options = {
    legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull'], showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
  return made;
}

/** A band over time for each state. */
export function states(given) {
  const made = panel('state-timeline', { width: 8, unit: 'bool', ...given }, { range: true });
  made.fieldConfig.defaults.custom = { fillOpacity: 70, lineWidth: 0 };
  made.options = { showValue: 'never', mergeValues: true, rowHeight: 0.8 };
  return made;
}

/** With a variable, Grafana repeats the row and its panels for each of the variable's values. */
export const row = (title, variable) => ({
  type: 'row',
  title,
  ...(variable && { repeat: variable, repeatDirection: 'h' }),
  collapsed: false,
  panels: [],
  gridPos: { x: 0, y: 0, w: 24, h: 1 },
});

/** Places panels in 24 columns and numbers them. */
export function arrange(panels) {
  let [x, y, tallest] = [0, 0, 0];
  return panels.map((panel, index) => {
    const { w, h } = panel.gridPos;
    if (x + w > 24) {
      y += tallest;
      [x, tallest] = [0, 0];
    }
    const placed = { id: index + 1, ...panel, gridPos: { x, y, w, h } };
    x += w;
    tallest = Math.max(tallest, h);
    return placed;
  });
}

/** A variable with several of a label's values. */
export const choice = (name, label, query) => ({
  type: 'query',
  name,
  label,
  datasource: DATASOURCE,
  definition: query,
  query: { qryType: 1, query, refId: name },
  refresh: 2,
  sort: 1,
  multi: true,
  includeAll: true,
  allValue: '.+',
  current: { text: ['All'], value: ['$__all'] },
});

export const datasourceChoice = {
  type: 'datasource',
  name: 'datasource',
  label: 'Data source',
  query: 'prometheus',
};

/** A mark across all panels at each value of the query. */
export const mark = (name, expr, titleFormat) => ({
  name,
  datasource: DATASOURCE,
  enable: true,
  iconColor: 'purple',
  expr,
  step: '15s',
  titleFormat,
});
