import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  debianBaseReference,
  fallbackNodeVersion,
  findNodeBinary,
  parseDistribution,
} from "../../../sandbox/image/debian-base.ts";

const inputs = { distribution: "debian-12", architecture: "x64", nodeVersion: "24.1.0" };

test.each([
  ['ID=debian\nVERSION_ID="12"\n', "debian-12"],
  ['PRETTY_NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\nID_LIKE=debian\n', "ubuntu-24.04"],
  ["ID='My+Linux'\n", "my_linux-unknown"],
  ["", "unknown-unknown"],
])("the distribution's name fits into a tag: %j", (osRelease, wanted) => {
  expect(parseDistribution(osRelease)).toBe(wanted);
});

test("the base's name is a valid reference and changes with everything that the base is made of", () => {
  const names = [
    inputs,
    { ...inputs, distribution: "debian-13" },
    { ...inputs, architecture: "arm64" },
    { ...inputs, nodeVersion: "24.1.1" },
  ].map(debianBaseReference);
  for (const name of names) expect(name).toMatch(/^ptc-base:[a-z0-9][a-z0-9._-]{0,127}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(debianBaseReference({ ...inputs })).toBe(names[0]);
});

test("an image gets the Node.js that the project is developed with, fetched or from node_modules", () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));
  expect(fallbackNodeVersion).toBe(manifest.devDependencies.node);
  expect(findNodeBinary().version).toBe(manifest.devDependencies.node);
});
