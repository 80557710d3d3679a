// Shows the OpenAPI document in Swagger UI, in the system's theme.
const isDark = matchMedia('(prefers-color-scheme: dark)');

function follow() {
  document.documentElement.classList.toggle('dark-mode', isDark.matches);
}

/** The smallest body that works: the required fields, or a text. */
function leastOf(schema) {
  const { properties, required = ['text'] } = schema;
  const names = required.filter((name) => properties[name]);
  return Object.fromEntries(names.map((name) => [name, properties[name].example ?? 'string']));
}

/** Moves default and example into the description. The viewer would send them, and some contradict each other. */
function describe(schema, described) {
  for (const name of ['default', 'example']) {
    if (schema[name] !== undefined) {
      const label = name[0].toUpperCase() + name.slice(1);
      described.description = `${described.description ?? ''} ${label}: \`${schema[name]}\`.`;
      delete schema[name];
    }
  }
}

/** Changes the document so that the viewer's requests work without a change. */
function prepare(spec) {
  const { schemas } = spec.components;
  // The paths of single pictures come first.
  const isLater = ([path]) => !path.startsWith('/v1/qr');
  spec.paths = Object.fromEntries(
    Object.entries(spec.paths).sort((a, b) => isLater(a) - isLater(b)),
  );
  const named = (schema) => schemas[schema?.$ref?.split('/').pop()];
  for (const operation of Object.values(spec.paths).flatMap(Object.values)) {
    // The viewer shows descriptions as Markdown, but not summaries.
    operation.summary = operation.summary?.replaceAll('`', '');
    for (const parameter of operation.parameters ?? []) describe(parameter.schema, parameter);
    const body = operation.requestBody?.content['application/json'];
    const [one, item] = [named(body?.schema), named(body?.schema.items)];
    if (one ?? item) body.example = one ? leastOf(one) : [leastOf(item)];
  }
  for (const schema of Object.values(schemas)) {
    for (const property of Object.values(schema.properties ?? {})) describe(property, property);
  }
}

async function show() {
  // A service that was built without the viewer has no such file, and the page says so.
  if (!window.SwaggerUIBundle) return;
  const answer = await fetch('/v1/openapi.json');
  const spec = await answer.json();
  prepare(spec);
  window.SwaggerUIBundle({
    spec,
    domNode: document.getElementById('viewer'),
    // By default the viewer asks another host to validate the document.
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
  });
}

follow();
isDark.addEventListener('change', follow);
show();
