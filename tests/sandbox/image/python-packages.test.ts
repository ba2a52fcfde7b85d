import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { debianBaseReference, describePythonPackages } from "../../../sandbox/image/debian-base.ts";
import { buildRunnerImage } from "../../../sandbox/image/runner-image.ts";

const hasDebianTools = (() => {
  try {
    execFileSync("dpkg-deb", ["--version"]);
    return true;
  } catch {
    return false;
  }
})();

test("packages for Python make another base", () => {
  const inputs = { distribution: "debian-12", architecture: "x64", nodeVersion: "24.0.0" };
  expect(debianBaseReference({ ...inputs, pythonPackages: ["python3-numpy"] })).not.toBe(
    debianBaseReference(inputs),
  );
});

test("a base that is named cannot be given packages", async () => {
  const request = {
    store: {} as Parameters<typeof buildRunnerImage>[0]["store"],
    runnerPath: "",
    guardPath: "",
    pythonPath: "",
    dockerfilePath: "",
    base: "mine:1",
    pythonPackages: ["numpy"],
    reference: "ptc-runner",
    onProgress: () => {},
  };
  await expect(buildRunnerImage(request)).rejects.toThrow(
    "sandbox.python_packages cannot be added to mine:1: leave --base out",
  );
});

test.skipIf(!hasDebianTools)(
  "versions and modules are read from the packages that were asked for",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-debs-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
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
      make("python3-shapes", [
        `${installed}/shapes/__init__.py`,
        `${installed}/shapes/round.py`,
        `${installed}/lines.py`,
      ]),
      make("python3-needed", [`${installed}/needed/__init__.py`]),
    ];
    expect(await describePythonPackages(files, ["python3-shapes"])).toEqual({
      versions: { "python3-shapes": "1:2.3-4" },
      modules: ["lines", "shapes"],
    });
  },
);
