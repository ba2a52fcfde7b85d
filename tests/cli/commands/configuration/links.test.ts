import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { projectInProcess } from "../../ptc-in-process.ts";
import { fixtureServer } from "../../ptc-process.ts";

/** Where modules are written, and how that is said. */
const FOLDERS: [folder: string, flags: string[]][] = [
  ["generated", []],
  ["out/modules", ["--out", "out/modules"]],
];

/** A project, and a folder beside it to which its links lead. */
function newProject(settings: object = {}) {
  const made = projectInProcess({ servers: [fixtureServer("docs", "documents.mjs")], ...settings });
  const { directory } = made.project;
  const elsewhere = `${directory}-elsewhere`;
  mkdirSync(elsewhere);
  onTestFinished(() => rmSync(elsewhere, { recursive: true, force: true }));
  return { ...made, directory, elsewhere };
}

describe("where a link leads out of the project", () => {
  it.each(FOLDERS)("ptc generate writes no modules to %s", async (folder, flags) => {
    const { ptc, directory, elsewhere } = newProject();
    symlinkSync(elsewhere, join(directory, folder.split("/")[0] ?? ""));
    const { code, stderr } = await ptc(["generate", ...flags]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^ptc: \S+ is a link[^\n]*\n$/m);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it("ptc add writes no server", async () => {
    const { ptc, directory, elsewhere } = newProject();
    const before = readFileSync(join(directory, "ptc.yaml"), "utf8");
    writeFileSync(join(elsewhere, "ptc.yaml"), before);
    rmSync(join(directory, "ptc.yaml"));
    symlinkSync(join(elsewhere, "ptc.yaml"), join(directory, "ptc.yaml"));
    expect(await ptc(["add", "more", "--force", "--", "never-started"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "ptc: ptc.yaml is a link that leads out of this folder, and nothing was written through it; remove it\n",
    });
    expect(readFileSync(join(elsewhere, "ptc.yaml"), "utf8")).toBe(before);
  });

  it("ptc init writes no configuration, also where the link leads to nothing", async () => {
    const { ptc, directory, elsewhere } = newProject();
    rmSync(join(directory, "ptc.yaml"));
    symlinkSync(join(elsewhere, "ptc.yaml"), join(directory, "ptc.yaml"));
    const { code, stderr } = await ptc(["init"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "ptc: ptc.yaml is already here; edit it, or remove it first\n",
    });
    expect(existsSync(join(elsewhere, "ptc.yaml"))).toBe(false);
  });

  it("ptc save saves no program", async () => {
    const { ptc, project, directory, elsewhere } = newProject({ servers: [] });
    symlinkSync(elsewhere, join(directory, "programs"));
    project.write("one.ts", "// One\nglobalThis.result = 1;\n");
    const { code, stderr } = await ptc(["save", "one.ts", "--name", "one"]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(
      /^ptc: \S+programs is a link that leads out of the folder of ptc\.yaml, [^\n]*\n$/,
    );
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
