/**
 * Code in several languages that requests the picture. A `request` has `url`, the file's `extension`, and
 * for a POST `json`, the body.
 */

/** A text in double quotes, as C, Go, Java and Python read it. Python and Go have no surrogates. */
const quoted = (text) => JSON.stringify(text).replaceAll('\u007f', '\\u007f');
const inShell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const inHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
const inPhp = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const lines = (...all) => all.filter((line) => line !== undefined).join('\n');

function html({ url, extension, json }) {
  if (json)
    return 'Browsers load pictures only by GET, but secrets need POST: use another language.';
  if (extension === 'png' || extension === 'svg') return `<img src="${inHtml(url)}" alt="QR code">`;
  return `<a href="${inHtml(url)}" download="code.${extension}">QR code</a>`;
}

function curl({ url, extension, json }) {
  const data = json && ` \\\n  -H 'content-type: application/json' -d ${inShell(json)}`;
  return `curl --fail-with-body -o code.${extension} ${inShell(url)}${data ?? ''}`;
}

function javascript({ url, extension, json }) {
  const headers = "headers: { 'content-type': 'application/json' }";
  const options = json && `, {\n  method: 'POST',\n  ${headers},\n  body: ${quoted(json)},\n}`;
  return lines(
    "import { writeFile } from 'node:fs/promises';",
    '',
    `const answer = await fetch(${quoted(url)}${options ?? ''});`,
    'if (!answer.ok) throw new Error(await answer.text());',
    `await writeFile('code.${extension}', Buffer.from(await answer.arrayBuffer()));`,
  );
}

function python({ url, extension, json }) {
  return lines(
    'import urllib.request',
    '',
    json &&
      `body = ${quoted(json)}.encode()\nheaders = {"content-type": "application/json"}\nrequest = urllib.request.Request(${quoted(url)}, body, headers)`,
    `with urllib.request.urlopen(${json ? 'request' : quoted(url)}) as answer:`,
    `    with open("code.${extension}", "wb") as file:`,
    '        file.write(answer.read())',
  );
}

function go({ url, extension, json }) {
  const call = json
    ? `http.Post(${quoted(url)}, "application/json", strings.NewReader(${quoted(json)}))`
    : `http.Get(${quoted(url)})`;
  return lines(
    'package main',
    '',
    'import (',
    '\t"io"',
    '\t"log"',
    '\t"net/http"',
    '\t"os"',
    json && '\t"strings"',
    ')',
    '',
    'func main() {',
    `\tanswer, err := ${call}`,
    '\tif err != nil {',
    '\t\tlog.Fatal(err)',
    '\t}',
    '\tdefer answer.Body.Close()',
    '\tpicture, err := io.ReadAll(answer.Body)',
    '\tif err != nil || answer.StatusCode != http.StatusOK {',
    '\t\tlog.Fatal(err, string(picture))',
    '\t}',
    `\tif err := os.WriteFile("code.${extension}", picture, 0o644); err != nil {`,
    '\t\tlog.Fatal(err)',
    '\t}',
    '}',
  );
}

function java({ url, extension, json }) {
  const post = `.header("content-type", "application/json").POST(BodyPublishers.ofString(${quoted(json ?? '')}))`;
  return lines(
    'import java.net.URI;',
    'import java.net.http.*;',
    'import java.net.http.HttpRequest.BodyPublishers;',
    'import java.net.http.HttpResponse.BodyHandlers;',
    'import java.nio.file.*;',
    '',
    'class Code {',
    '    public static void main(String[] arguments) throws Exception {',
    `        var request = HttpRequest.newBuilder(URI.create(${quoted(url)}))`,
    `            ${json ? post : ''}.build();`,
    '        var answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofByteArray());',
    '        if (answer.statusCode() != 200) throw new Exception(new String(answer.body()));',
    `        Files.write(Path.of("code.${extension}"), answer.body());`,
    '    }',
    '}',
  );
}

function php({ url, extension, json }) {
  const context = json
    ? lines(
        '$context = stream_context_create(["http" => [',
        '    "method" => "POST",',
        '    "header" => "content-type: application/json",',
        `    "content" => ${inPhp(json)},`,
        ']]);',
        `$picture = file_get_contents(${inPhp(url)}, false, $context);`,
      )
    : `$picture = file_get_contents(${inPhp(url)});`;
  return lines(
    '<?php',
    context,
    'if ($picture === false) exit(1);',
    `file_put_contents("code.${extension}", $picture);`,
  );
}

/** Name and maker of each. */
export const SNIPPETS = [
  ['URL', ({ url, json }) => (json ? `POST ${url}\n${json}` : url)],
  ['HTML', html],
  ['curl', curl],
  ['JavaScript', javascript],
  ['Python', python],
  ['Go', go],
  ['Java', java],
  ['PHP', php],
];
