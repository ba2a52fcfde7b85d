import assert from "node:assert/strict";
import { writeJson } from "../../../base/json.ts";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { readOperations } from "../../../upstream/openapi/operations.ts";
import { nextArguments } from "../../../upstream/openapi/pagination.ts";
import { buildRequest, UnusableArguments } from "../../../upstream/openapi/request.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileObject, hostileString } from "../hostile/hostile-json.ts";
import { hostileText } from "../hostile/hostile-text.ts";
import { hostileSchema } from "../hostile/hostile-tools.ts";
import type { Random } from "../random.ts";

const PLACES = ["path", "query", "header", "cookie", "body", "formData", "nowhere"];
const STYLES = [
  "simple",
  "label",
  "matrix",
  "form",
  "deepObject",
  "pipeDelimited",
  "spaceDelimited",
  "__proto__",
];
const REFERENCES = [
  "#/components/schemas/A",
  "#/paths/~1a",
  "#",
  "#/",
  "../x.json",
  "#/components/parameters/P",
];
const PATHS = [
  "/a",
  "/a/{id}",
  "/../{id}",
  "//evil.example/{id}",
  "/a{id}b{id}",
  "a",
  "/{}",
  "/{id}?x={id}#y",
];
/** What answers say of the next page. */
const ANSWER =
  '{"next":"https://evil.example/a/2?id=1&cursor=c","next_cursor":"c","has_more":true,"data":[{"id":"x"}]}';
const LINKS = [
  "",
  "<https://evil.example/v1/a/../../b?id=2&__proto__=1>; rel=next",
  '</a/x>; title="; rel=prev>,<"; rel="next"',
  "<<>><;rel=next,<?id[]=1&cursor=2>;rel=NEXT",
];
const MEDIA = [
  "application/json",
  "multipart/form-data",
  "*/*",
  "text/plain",
  "application/x-www-form-urlencoded",
  "x",
];

/** A description of an API, arguments and a header: whatever they say, each request goes below the base, or is not made. */
export const target = fuzzTarget({
  name: "openapi",
  iterations: 300,
  generate: (random) =>
    `[${description(random)},${random.chance(0.5) ? ANSWER : hostileSchema(random, 3)},${JSON.stringify(random.pick(LINKS))}]`,
  check(input) {
    let parts: unknown;
    try {
      parts = JSON.parse(input.toString("utf8"));
    } catch {
      return;
    }
    if (!Array.isArray(parts)) return;
    let described: ReturnType<typeof parseDescription>;
    try {
      described = parseDescription(JSON.stringify(parts[0]) ?? "", "of a test");
    } catch (error) {
      assert.ok(error instanceof UpstreamError, `a fault of another kind: ${error}`);
      assert.doesNotMatch(error.message, /[\r\n]/);
      return;
    }
    const { operations } = readOperations(described);
    assert.equal(
      new Set(operations.map(({ name }) => name)).size,
      operations.length,
      "two tools have one name",
    );
    const base = new URL("https://api.example.com/v1/");
    for (const operation of operations) {
      assert.match(operation.name, /^[A-Za-z0-9_.-]{1,128}$/);
      assert.doesNotMatch(writeJson(operation.definition), /"\$ref":"(?!#\/\$defs\/)/);
      const args = Object.fromEntries(operation.parameters.map(({ argument }) => [argument, parts[1]]));
      const link = typeof parts[2] === "string" ? parts[2].replaceAll(/[^\u0020-\u007e]/g, "") : "";
      const page = {
        value: parts[1],
        headers: new Headers({ link }),
        url: new URL("https://api.example.com/v1/a"),
      };
      const next = nextArguments(operation, { ...page, arguments: args }) ?? {};
      const known = new Set([...Object.keys(args), "body"]);
      assert.ok(
        Object.keys(next).every((name) => known.has(name)),
        `an argument that the operation does not have: ${writeJson(next)}`,
      );
      try {
        const { url, headers } = buildRequest(operation, { ...args, body: parts[1] }, base);
        assert.ok(url.href.startsWith("https://api.example.com/v1/"), `out of the API: ${url.href}`);
        assert.ok(!headers.has("authorization") && !headers.has("host"));
      } catch (error) {
        assert.ok(error instanceof UnusableArguments, `a fault of another kind: ${error}`);
      }
    }
  },
});

function description(random: Random): string {
  const version: [string, string] = random.chance(0.2)
    ? ["swagger", '"2.0"']
    : ["openapi", random.pick(['"3.0.3"', '"3.1.0"'])];
  const paths = random.list(
    random.between(1, 3),
    () => `${JSON.stringify(random.pick(PATHS))}:${item(random)}`,
  );
  const components = `{"schemas":{"A":${hostileSchema(random, 3)}},"parameters":{"P":${parameter(random)}}}`;
  return hostileObject(
    random,
    [version, ["paths", `{${paths.join(",")}}`], ["components", components]],
    0.05,
  );
}

function item(random: Random): string {
  if (random.chance(0.1)) return reference(random);
  const methods = random.list(random.between(1, 2), () => {
    const members: [string, string][] = [
      ["operationId", hostileString(random, hostileText(random, 2))],
      ["parameters", `[${random.list(random.size(4), () => parameter(random)).join(",")}]`],
      [
        "responses",
        `{"200":{"content":${random.chance(0.3) ? PAGED : content(random)},"links":{"next":${link(random)}}}}`,
      ],
    ];
    if (random.chance(0.5)) members.push(["requestBody", `{"content":${content(random)}}`]);
    return `"${random.pick(["get", "post", "put", "delete", "head"])}":${hostileObject(random, members, 0.05)}`;
  });
  return `{${methods.join(",")}}`;
}

function content(random: Random): string {
  return `{${random.list(random.size(3), () => `"${random.pick(MEDIA)}":{"schema":${schema(random)}}`).join(",")}}`;
}

/** The schema of an answer that has pages. */
const PAGED =
  '{"application/json":{"schema":{"properties":{"next":{"type":"string"},"next_cursor":{"type":"string"},"data":{"type":"array"},"has_more":{"type":"boolean"}}}}}';

function link(random: Random): string {
  const value = random.pick([
    "$response.body#/next",
    "$response.header.link",
    "{$response.body}",
    "$url",
    "$response.body#/~9",
  ]);
  return `{"operationRef":"#/paths/~1a/get","operationId":"x","parameters":{"id":${JSON.stringify(value)},"__proto__":"a"}}`;
}

function schema(random: Random): string {
  return random.chance(0.3) ? reference(random) : hostileSchema(random, 3);
}

function reference(random: Random): string {
  return `{"$ref":${JSON.stringify(random.pick(REFERENCES))}}`;
}

function parameter(random: Random): string {
  if (random.chance(0.1)) return reference(random);
  const name = random.chance(0.6)
    ? random.pick(['"id"', '"cursor"', '"starting_after"'])
    : hostileString(random, hostileText(random, 1));
  return hostileObject(
    random,
    [
      ["name", name],
      ["in", JSON.stringify(random.pick(PLACES))],
      ["style", JSON.stringify(random.pick(STYLES))],
      ["explode", random.pick(["true", "false", "1"])],
      ["schema", schema(random)],
    ],
    0.05,
  );
}
