import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { linkOutOf } from "../../system/link-out-of.ts";

/** A folder `project` beside `elsewhere`, with a folder and a file in it. */
function newFolders() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "ptc-links-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ["project/inside", "project2", "elsewhere"])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "project/inside/file"), "");
  return { root, project: join(root, "project") };
}

describe("a path in a folder", () => {
  it.each([
    ["../elsewhere", "link"],
    ["../elsewhere", "link/below/file"],
    ["../elsewhere/missing", "link"],
    ["../missing/below", "link/file"],
    ["../project2", "link"],
    ["..", "link/file"],
    ["/", "link"],
    ["inside/../../elsewhere", "link"],
    ["link", "link"],
  ])("leads out by a link to %s in %s", (target, path) => {
    const { project } = newFolders();
    symlinkSync(target, join(project, "link"));
    expect(linkOutOf(project, join(project, path))).toBe(join(project, "link"));
  });

  it.each([
    ["inside", "link/file"],
    ["inside/file", "link"],
    ["inside/missing", "link"],
    ["missing", "link/below"],
    [".", "link"],
    ["../project/inside", "link"],
  ])("stays in by a link to %s in %s", (target, path) => {
    const { project } = newFolders();
    symlinkSync(target, join(project, "link"));
    expect(linkOutOf(project, join(project, path))).toBeUndefined();
  });

  it("leads out by a link behind one that stays in", () => {
    const { project } = newFolders();
    symlinkSync("inside", join(project, "one"));
    symlinkSync("../../elsewhere", join(project, "inside/two"));
    expect(linkOutOf(project, join(project, "one/two/file"))).toBe(join(project, "one/two"));
  });

  it("leads out by a link to a link to what is not there yet, and by one that goes up from behind a link", () => {
    const { project } = newFolders();
    symlinkSync("../../elsewhere/missing", join(project, "inside/second"));
    symlinkSync("inside/second", join(project, "first"));
    expect(linkOutOf(project, join(project, "first"))).toBe(join(project, "first"));
    symlinkSync("../elsewhere", join(project, "out"));
    symlinkSync("out/../missing", join(project, "up"));
    expect(linkOutOf(project, join(project, "up"))).toBe(join(project, "up"));
  });

  it("may be in a folder that is found by a link, and elsewhere is not looked at", () => {
    const { root, project } = newFolders();
    symlinkSync(project, join(root, "alias"));
    symlinkSync("../elsewhere", join(project, "link"));
    expect(linkOutOf(join(root, "alias"), join(root, "alias/inside/file"))).toBeUndefined();
    expect(linkOutOf(join(root, "alias"), join(root, "alias/link"))).toBe(join(root, "alias/link"));
    symlinkSync("elsewhere", join(root, "beside"));
    expect(linkOutOf(project, join(root, "beside/file"))).toBeUndefined();
  });
});
