import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { delimiter, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
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

const hasDpkg = spawnSync("dpkg-deb", ["--version"]).status === 0;

/** Makes a package in a folder. @param files what it has, by path. */
function makePackage(folder: string, name: string, files: Readonly<Record<string, string>>): string {
  const root = join(newFolder(), name);
  mkdirSync(join(root, "DEBIAN"), { recursive: true, mode: 0o755 });
  const control = `Package: ${name}\nVersion: 1:2.3-4\nArchitecture: all\nMaintainer: nobody <n@example.com>\nDescription: none\n`;
  writeFileSync(join(root, "DEBIAN/control"), control);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), content);
  }
  const deb = join(folder, `${name}_1%3a2.3-4_all.deb`);
  execFileSync("dpkg-deb", ["--build", "--root-owner-group", root, deb]);
  return deb;
}

test.skipIf(!hasDpkg)("versions and modules are read from the packages that were asked for", async () => {
  const folder = newFolder();
  const installed = "usr/lib/python3/dist-packages";
  const shapes = ["shapes/__init__.py", "shapes/round.py", "lines.py"];
  const files = [
    makePackage(
      ...[folder, "python3-shapes"],
      Object.fromEntries(shapes.map((file) => [`${installed}/${file}`, ""])),
    ),
    makePackage(folder, "python3-needed", { [`${installed}/needed/__init__.py`]: "" }),
  ];
  expect(await describePythonPackages(files, ["python3-shapes"])).toEqual({
    versions: { "python3-shapes": "1:2.3-4" },
    modules: ["lines", "shapes"],
  });
});

describe.skipIf(!hasDpkg)("a base that is not there", () => {
  /**
   * Builds one with what apt and npm fetch here: scripts, which write down how they were called.
   *
   * @param apt what apt-get does, with `$cache` for the folder of its packages.
   */
  async function build(apt: string, pythonPackages?: string[]) {
    const bin = newFolder();
    const calls = join(bin, "calls");
    const script = (name: string, body: string) =>
      writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>${calls}\n${body}\n`, { mode: 0o755 });
    const find = "for each; do case $each in Dir::Cache=*) cache=${each#*=}/archives;; esac; done";
    script("apt-get", `${find}\n${apt}`);
    script(
      "npm",
      "mkdir -p package/bin; echo node >package/bin/node; tar -czf node.tgz package; rm -r package",
    );
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    // As where ptc was installed without what it is developed with.
    const hooks = registerHooks({
      resolve(name, context, next) {
        if (name === "node/package.json") throw new Error("not installed");
        return next(name, context);
      },
    });
    onTestFinished(() => hooks.deregister());
    const root = newFolder();
    const told: string[] = [];
    const importRootfs: ImageStore["importRootfs"] = async ({ tar, reference }) => {
      const unpacking = spawn("tar", ["--extract", "--preserve-permissions", `--directory=${root}`], {
        stdio: ["pipe", "ignore", "inherit"],
      });
      tar.pipe(unpacking.stdin);
      await once(unpacking, "close");
      return { digest: `digest of ${reference}` };
    };
    const work = newFolder();
    vi.stubEnv("TMPDIR", work);
    const store = { inspect: async () => undefined, importRootfs } as unknown as ImageStore;
    const building = ensureDebianBase(store, (line) => void told.push(line), pythonPackages);
    const built = await building.catch((error: unknown) => error);
    expect(readdirSync(work)).toEqual([]);
    return { built, told, root, calls: readFileSync(calls, "utf8").trimEnd().split("\n") };
  }

  const read = (root: string, path: string) => readFileSync(join(root, path), "utf8");

  test("is made of the distribution's packages, without what no program needs, and of Node.js", async () => {
    const debs = newFolder();
    makePackage(debs, "libc-bin", {
      "usr/bin/tool": "a tool",
      "usr/share/doc/libc-bin/copyright": "",
      "usr/lib/x86_64-linux-gnu/gconv/A.so": "",
      "var/lib/x": "",
    });
    makePackage(debs, "mawk", { "usr/bin/mawk": "" });
    const { built, told, root, calls } = await build(`cp ${debs}/*.deb $cache/; touch $cache/lock`);
    const reference = debianBaseReference({
      distribution: parseDistribution(readFileSync("/etc/os-release", "utf8")),
      ...{ architecture: process.arch, nodeVersion: fallbackNodeVersion },
    });
    expect(built).toEqual({ digest: `digest of ${reference}`, reference });
    expect(told).toEqual(["Building the base image from this distribution's packages ..."]);
    expect(calls.filter((call) => call.startsWith("npm"))).toEqual([
      expect.stringContaining(`npm pack --silent node-linux-${process.arch}@${fallbackNodeVersion} `),
    ]);
    expect(calls.filter((call) => call.startsWith("apt-get"))).toEqual([
      expect.stringMatching(
        /^apt-get -o Dir::State::status=\/dev\/null -o Dir::Cache=\S+ .*-qq --download-only --no-install-recommends --yes install base-files .*python3/,
      ),
    ]);
    expect(readdirSync(root).sort()).toEqual(["bin", "etc", "lib", "lib64", "sbin", "tmp", "usr"]);
    expect(readlinkSync(join(root, "bin"))).toBe("usr/bin");
    expect(readdirSync(join(root, "usr/bin"))).toEqual(["tool"]);
    expect(readdirSync(join(root, "usr/share"))).toEqual([]);
    expect(readdirSync(join(root, "usr/lib/x86_64-linux-gnu"))).toEqual([]);
    expect(read(root, "usr/local/bin/node")).toBe("node\n");
    expect(statSync(join(root, "usr/local/bin/node")).mode & 0o777).toBe(0o755);
    expect(read(root, "etc/passwd")).toContain("nobody:x:65534:65534:nobody:/workspace:");
    expect(read(root, "etc/group")).toContain("nogroup:x:65534:");
    expect(statSync(join(root, "tmp")).mode & 0o1777).toBe(0o1777);
  });

  test("has the Python packages that are asked for, a list of them, and links to their libraries", async () => {
    const debs = newFolder();
    makePackage(debs, "python3-shapes", { "usr/lib/python3/dist-packages/shapes/__init__.py": "" });
    const libraries = "usr/lib/x86_64-linux-gnu";
    makePackage(debs, "libblas3", {
      [`${libraries}/blas/libblas.so.3`]: "a library",
      [`${libraries}/blas/libblas.so.3.11.0`]: "",
      [`${libraries}/lapack/liblapack.so.3`]: "",
    });
    const { built, root, calls } = await build(`cp ${debs}/*.deb $cache/`, ["shapes"]);
    expect(built).toMatchObject({ digest: expect.any(String) });
    expect(calls.join("\n")).toMatch(/tzdata python3-shapes$/m);
    expect(JSON.parse(read(root, "usr/lib/ptc-python-packages.json"))).toEqual({
      versions: { "python3-shapes": "1:2.3-4" },
      modules: ["shapes"],
    });
    expect(read(root, `${libraries}/libblas.so.3`)).toBe("a library");
    expect(readdirSync(join(root, libraries)).sort()).toEqual([
      ...["blas", "lapack", "libblas.so.3", "liblapack.so.3"],
    ]);
  });

  test("is made with current lists of packages where those of the machine are of no use", async () => {
    const { built, calls } = await build(
      'case "$*" in *Dir::State::lists=*) ;; *) echo "no such package" >&2; exit 100;; esac',
    );
    expect(built).toMatchObject({ digest: expect.any(String) });
    const asked = calls.filter((call) => call.startsWith("apt-get"));
    expect(asked).toEqual([
      expect.not.stringContaining("Dir::State::lists"),
      expect.stringMatching(/ -o Dir::State::lists=\S+ -qq update$/),
      expect.stringMatching(/ -o Dir::State::lists=\S+ -qq --download-only .* install base-files /),
    ]);
  });

  test("cannot be made where the packages cannot be fetched, which says what to do", async () => {
    const { built, calls } = await build("echo nothing works >&2; exit 100");
    expect(built).toMatchObject({
      code: "base_unavailable",
      message:
        "the distribution's packages cannot be fetched: apt-get -o failed (exit 100): nothing works. Where there is no apt, name a base image that a registry has.",
    });
    expect(calls.filter((call) => !call.startsWith("apt-get"))).toEqual([]);
  });

  test("cannot be made of a package that is broken", async () => {
    const { built } = await build("echo broken >$cache/broken_1_all.deb");
    expect(built).toMatchObject({
      code: "build_failed",
      message: expect.stringMatching(/^(dpkg-deb|tar) --\S+ failed \(exit 2\): /),
    });
  });
});
