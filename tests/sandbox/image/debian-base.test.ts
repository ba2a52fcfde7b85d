import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  debianBaseReference,
  describeDebianBase,
  describePythonPackages,
  ensureDebianBase,
  fallbackNodeVersion,
  findNodeBinary,
  parseDistribution,
} from "../../../sandbox/image/debian-base.ts";
import type { ImageStore } from "../../../sandbox/sandbox-engine.ts";
import { newFolder } from "../../temporary-folder.ts";

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
    { ...inputs, pythonPackages: ["python3-numpy"] },
  ].map(debianBaseReference);
  for (const name of names) expect(name).toMatch(/^ptc-base:[a-z0-9][a-z0-9._-]{0,127}$/);
  expect(new Set(names).size).toBe(names.length);
  expect(debianBaseReference({ ...inputs })).toBe(names[0]);
});

test("an image gets the Node.js that the project is developed with, fetched or from node_modules", () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));
  expect(fallbackNodeVersion).toBe(manifest.devDependencies.node);
  const { version, path } = findNodeBinary();
  expect(version).toBe(manifest.devDependencies.node);
  if (path !== undefined)
    expect(execFileSync(path, ["--version"], { encoding: "utf8" }).trim()).toBe(`v${version}`);
});

test("a base that is there is not built again, and is found by what is to be in it", async () => {
  const asked: string[] = [];
  const store = {
    inspect: async (reference: string) => {
      asked.push(reference);
      return { digest: "sha256:1", content: undefined };
    },
  } as unknown as ImageStore;
  const told: string[] = [];
  const ensure = (packages?: string[]) =>
    ensureDebianBase(store, (message) => void told.push(message), packages);
  expect(await ensure()).toEqual({ digest: "sha256:1", content: undefined, reference: asked[0] });
  expect(asked[0]).toBe(await describeDebianBase());
  await ensure(["numpy", "python3-numpy"]);
  await ensure(["python3-numpy"]);
  expect(asked[1]).toBe(asked[2]);
  expect(asked[1]).not.toBe(asked[0]);
  expect(told).toEqual([]);
});

test.skipIf(spawnSync("dpkg-deb", ["--version"]).status !== 0)(
  "versions and modules are read from the packages that were asked for",
  async () => {
    const folder = newFolder();
    const make = (name: string, files: readonly string[]) => {
      const root = join(folder, name);
      mkdirSync(join(root, "DEBIAN"), { recursive: true, mode: 0o755 });
      const control = `Package: ${name}\nVersion: 1:2.3-4\nArchitecture: all\nMaintainer: nobody <n@example.com>\nDescription: none\n`;
      writeFileSync(join(root, "DEBIAN/control"), control);
      for (const file of files) {
        mkdirSync(join(root, file, ".."), { recursive: true });
        writeFileSync(join(root, file), "");
      }
      const deb = join(folder, `${name}_1%3a2.3-4_all.deb`);
      execFileSync("dpkg-deb", ["--build", "--root-owner-group", root, deb]);
      return deb;
    };
    const installed = "usr/lib/python3/dist-packages";
    const files = [
      make(
        "python3-shapes",
        ["shapes/__init__.py", "shapes/round.py", "lines.py"].map((file) => `${installed}/${file}`),
      ),
      make("python3-needed", [`${installed}/needed/__init__.py`]),
    ];
    expect(await describePythonPackages(files, ["python3-shapes"])).toEqual({
      versions: { "python3-shapes": "1:2.3-4" },
      modules: ["lines", "shapes"],
    });
  },
);
