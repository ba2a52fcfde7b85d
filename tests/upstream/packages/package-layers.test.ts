import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { PackageCommand } from "../../../upstream/packages/package-command.ts";
import { type LayerOptions, PackageLayers } from "../../../upstream/packages/package-layers.ts";

const SERVER: PackageCommand = { kind: "npm", packages: ["a-server@1"], program: undefined, args: [] };
const INTEGRITY = "sha512-AAAA";

/** A project, and an npm that installs one package without a network. It notes how it was called. */
function setUp({ entry = { version: "1.0.0", integrity: INTEGRITY } as object, fails = "" } = {}) {
  const directory = mkdtempSync(join(tmpdir(), "ptc-packages-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const bin = join(directory, "bin");
  mkdirSync(bin);
  const npm = join(bin, "npm");
  writeFileSync(
    npm,
    `#!${process.execPath}
const fs = require("fs");
fs.appendFileSync(${JSON.stringify(join(directory, "calls"))}, process.argv.slice(2).join(" ") + " registry=" + (process.env.npm_config_registry ?? "") + " rc=" + fs.existsSync(".npmrc") + "\\n");
const fails = ${JSON.stringify(fails)};
if (fails !== "") { console.error(fails); process.exit(1); }
if (process.argv[2] === "install")
  fs.writeFileSync("package-lock.json", JSON.stringify({ packages: { "": { dependencies: { "a-server": "^1" } }, "node_modules/a-server": ${JSON.stringify(entry)} } }));
else {
  fs.mkdirSync("node_modules/.bin", { recursive: true });
  fs.mkdirSync("node_modules/a-server");
  fs.writeFileSync("node_modules/a-server/package.json", JSON.stringify({ bin: { "a-server": "main.js" } }));
  fs.writeFileSync("node_modules/a-server/main.js", "#!/usr/bin/env node\\n", { mode: 0o700 });
  fs.symlinkSync("../a-server/main.js", "node_modules/.bin/a-server");
}
`,
  );
  chmodSync(npm, 0o755);
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const open = (resolves: boolean, more: Partial<LayerOptions> = {}) => {
    const layers = new PackageLayers({
      ...{ directory, servers: new Set(["one", "two"]), resolves, arch: "x64", python: "3.11", observer: {} },
      ...more,
    });
    return (server = "one", command = SERVER, env = {}) =>
      layers.get(server, command, env, new AbortController().signal);
  };
  const calls = () => readFileSync(join(directory, "calls"), "utf8").trim().split("\n");
  const lock = () => JSON.parse(readFileSync(join(directory, "ptc.packages.json"), "utf8"));
  return { directory, open, calls, lock };
}

test("packages are resolved into the lock and installed without their scripts, and the next start runs npm no more", async () => {
  const { directory, open, calls, lock } = setUp();
  writeFileSync(join(directory, ".npmrc"), "color=false\n");
  const layer = await open(true)("one", SERVER, { npm_config_registry: "http://localhost:1" });
  expect(lock()).toEqual({
    version: 1,
    servers: {
      one: {
        ...{ kind: "npm", packages: ["a-server@1"] },
        tree: {
          "": { dependencies: { "a-server": "^1" } },
          "node_modules/a-server": { version: "1.0.0", integrity: INTEGRITY },
        },
      },
    },
  });
  expect(layer.start("/srv/packages")).toEqual({
    command: "/usr/local/bin/node",
    args: ["/srv/packages/node_modules/a-server/main.js"],
    env: { PATH: "/srv/packages/node_modules/.bin" },
  });
  expect(calls()).toEqual([
    expect.stringMatching(
      /^install --package-lock-only .*--ignore-scripts .*-- a-server@1 registry=http:\/\/localhost:1 rc=true$/,
    ),
    expect.stringMatching(/^ci .*--ignore-scripts .*registry=http:\/\/localhost:1 rc=true$/),
  ]);
  expect(existsSync(join(layer.folder, ".npmrc"))).toBe(false);
  expect(readdirSync(join(directory, ".ptc/packages"))).toHaveLength(1);
  await open(false)();
  expect(calls()).toHaveLength(2);
});

test("a fresh clone installs what the lock has, and resolves nothing", async () => {
  const { directory, open, calls } = setUp();
  await open(true)();
  rmSync(join(directory, ".ptc"), { recursive: true });
  await open(false)();
  expect(calls().map((call) => call.split(" ")[0])).toEqual(["install", "ci", "ci"]);
});

test("servers that start at the same time share one installation", async () => {
  const { open, calls } = setUp();
  const get = open(true);
  await Promise.all([get(), get(), get()]);
  expect(calls()).toHaveLength(2);
});

test("a server that the lock does not have, or has with other packages, is refused until it is generated", async () => {
  const { open } = setUp();
  await expect(open(false)()).rejects.toThrow(
    "ptc.packages.json does not have its packages; run `ptc generate one`",
  );
  await open(true)();
  await expect(open(false)("one", { ...SERVER, packages: ["a-server@2"] })).rejects.toThrow(
    "ptc.packages.json has a-server@1, and ptc.yaml a-server@2; run `ptc generate one`",
  );
});

test("the lock forgets servers that ptc.yaml no longer has", async () => {
  const { open, lock } = setUp();
  await open(true)("one");
  await open(true, { servers: new Set(["two"]) })("two");
  expect(Object.keys(lock().servers)).toEqual(["two"]);
});

test.each<[string, (folder: string) => void]>([
  ["changed", (folder) => writeFileSync(join(folder, "node_modules/a-server/main.js"), "// other\n")],
  ["added", (folder) => writeFileSync(join(folder, "node_modules/a-server/more.js"), "")],
  ["removed", (folder) => rmSync(join(folder, "node_modules/a-server/main.js"))],
])("packages of which a file was %s are refused", async (_change, edit) => {
  const { open, directory } = setUp();
  const { folder } = await open(true)();
  edit(folder);
  const layer = join(directory, ".ptc/packages", readdirSync(join(directory, ".ptc/packages"))[0] ?? "");
  await expect(open(false)()).rejects.toThrow(
    `the packages in ${layer} are not as they were installed; remove that folder`,
  );
});

test.each([
  ["of a git repository", { version: "1.0.0", resolved: "git+ssh://git@example.com/a.git#0123" }],
  ["that is a link", { link: true, resolved: "../a", integrity: INTEGRITY }],
])("a package %s is never installed", async (_what, entry) => {
  const { open, calls } = setUp({ entry });
  await expect(open(true)()).rejects.toThrow(/^a-server comes from no registry with a digest/);
  expect(calls()).toHaveLength(1);
});

test.each([
  [
    "npm error code EINTEGRITY\nnpm error sha512-AAAA integrity checksum failed when using sha512",
    /a package is not the one that ptc\.packages\.json names.*run `ptc generate`$/,
  ],
  [
    "npm error code E404\nnpm error 404 Not Found - a-server@1",
    /^its packages cannot be fetched: npm error 404 Not Found/,
  ],
])("a failure of npm is one line: %s", async (fails, message) => {
  const { open, directory } = setUp({ fails });
  await expect(open(true)()).rejects.toThrow(message);
  expect(readdirSync(join(directory, ".ptc/packages"))).toEqual([]);
});

test.each(["{", '{"version":2}', '{"version":1,"servers":{"one":{"kind":"other"}}}'])(
  "a lock that ptc did not write is refused: %s",
  async (text) => {
    const { open, directory } = setUp();
    writeFileSync(join(directory, "ptc.packages.json"), text);
    await expect(open(false)()).rejects.toThrow(/^ptc\.packages\.json is none that ptc wrote/);
  },
);
