import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { RIGHTS } from "../../sandbox/kubernetes/examination.ts";
import { version } from "../../system/package.ts";

const CHART = join(import.meta.dirname, "../../deploy/chart");
const read = (name: string) => readFileSync(join(CHART, name), "utf8");
const schema = JSON.parse(read("values.schema.json"));
const values = parse(read("values.yaml"));
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
const problems = (more: object) => {
  validate(merge(values, more));
  return (validate.errors ?? []).map(({ instancePath }) => instancePath);
};
const EXAMPLE = parse(read("ci/example-values.yaml"));

/** As Helm merges values: objects by their keys, anything else as a whole. */
function merge(below: unknown, above: unknown): unknown {
  const isMap = (each: unknown) => typeof each === "object" && each !== null && !Array.isArray(each);
  if (!isMap(below) || !isMap(above)) return above ?? below;
  const [lower, upper] = [below, above] as Record<string, unknown>[];
  const names = new Set([...Object.keys(lower ?? {}), ...Object.keys(upper ?? {})]);
  return Object.fromEntries([...names].map((name) => [name, merge(lower?.[name], upper?.[name])]));
}

test("the chart's schema knows every value, and asks for what has no default", () => {
  expect(problems(EXAMPLE)).toEqual([]);
  expect(problems({}).sort()).toEqual(["/http/publicUrl", "/image/repository", "/programs/image"]);
});

test.each([
  ["a misspelt key", { replica: 3 }, ""],
  [
    "an image without its digest",
    { programs: { image: "registry.example.com/ptc-runner:1" } },
    "/programs/image",
  ],
  [
    "a secret in the configuration's place",
    { config: { storage: { url: "postgres://a:b@c/d" } } },
    "/config",
  ],
  ["limits that the pods would not have", { config: { execution: { memory_mb: 64 } } }, "/config"],
  ["an ingress without a host", { ingress: { enabled: true } }, "/ingress/host"],
  [
    "another language",
    { programs: { pools: [{ runner: "ruby", replicas: 1 }] } },
    "/programs/pools/0/runner",
  ],
])("the chart's schema refuses %s", (_what, more, path) => {
  expect(problems(merge(EXAMPLE, more) as object)).toContain(path);
});

test("the chart is of this version", () => {
  const { version: own, appVersion } = parse(read("Chart.yaml"));
  expect([own, appVersion]).toEqual([version, version]);
});

test("the chart's role has the rights that ptc needs, and no other", () => {
  const lines = read("templates/rbac.yaml").match(/^ +- \{ apiGroups: .*$/gm) ?? [];
  const rules = lines.map((line) => parse(line)[0]);
  expect(rules).toEqual(
    RIGHTS.map(({ group, resource, verbs }) => ({ apiGroups: [group], resources: [resource], verbs })),
  );
});
