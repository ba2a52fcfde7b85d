import { mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FollowedConfiguration } from "../../configuration/follow.ts";

const blocking = (tool: string) => `servers: [{name: x, command: x}]\ntools: {block: [${tool}]}\n`;

async function follow(text: string | undefined, more: { flag?: string } = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-follow-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const write = (content: string, name = "ptc.yaml") => writeFileSync(join(cwd, name), content);
  if (text !== undefined) write(text);
  const edits: string[] = [];
  const followed = await FollowedConfiguration.open({
    env: {},
    cwd,
    ...more,
    onEdit: (message) => void edits.push(message),
  });
  const blocked = async () => {
    await followed.refresh();
    return followed.current.tools.block;
  };
  return { cwd, write, edits, followed, blocked };
}

describe("a configuration that is followed", () => {
  it("is that of the file at every refresh, also of one of the same size within one tick of the clock", async () => {
    const { write, blocked, edits, cwd } = await follow(blocking("a"));
    expect(await blocked()).toEqual(["a"]);
    const now = new Date();
    for (const tool of ["b", "c", "d"]) {
      write(blocking(tool));
      utimesSync(join(cwd, "ptc.yaml"), now, now);
      expect(await blocked()).toEqual([tool]);
    }
    expect(edits).toEqual(Array(3).fill("ptc.yaml was edited, and is in force"));
    await blocked();
    expect(edits).toHaveLength(3);
  });

  it("is found where an editor puts another file in its place, and behind a link", async () => {
    const { write, blocked, cwd } = await follow(undefined);
    write(blocking("a"), "one.yaml");
    write(blocking("b"), "two.yaml");
    expect(await blocked()).toEqual([]);
    symlinkSync("one.yaml", join(cwd, "ptc.yaml"));
    expect(await blocked()).toEqual(["a"]);
    symlinkSync("two.yaml", join(cwd, "new"));
    renameSync(join(cwd, "new"), join(cwd, "ptc.yaml"));
    expect(await blocked()).toEqual(["b"]);
    write(blocking("c"), "two.yaml");
    expect(await blocked()).toEqual(["c"]);
    write(blocking("d"), "new");
    renameSync(join(cwd, "new"), join(cwd, "ptc.yaml"));
    expect(await blocked()).toEqual(["d"]);
  });

  it.each([
    ["wrong", "tools: {blok: []}", "ptc.yaml:1: tools.blok: is not a known key"],
    ["not YAML", "tools: [", "ptc.yaml:1: not valid YAML"],
    ["gone", undefined, "ptc.yaml is gone"],
  ])("stays in force while its file is %s, and says so once", async (_, text, why) => {
    const { write, blocked, edits, followed, cwd } = await follow(blocking("a"));
    if (text === undefined) rmSync(join(cwd, "ptc.yaml"));
    else write(text);
    for (let i = 0; i < 3; i++) expect(await blocked()).toEqual(["a"]);
    const problem = expect.stringMatching(
      "^the configuration was edited and cannot be used, so the earlier one is still",
    );
    expect(edits).toEqual([problem]);
    expect(followed.problem).toContain(why);
    write(blocking("b"));
    expect(await blocked()).toEqual(["b"]);
    expect(followed.problem).toBeUndefined();
  });

  it("has the rules as their files say, also of files that an edit names which is not in force yet", async () => {
    const ruled = (file: string) => `policy: [${file}]\n`;
    const { write, edits, followed } = await follow(ruled("a.cedar"));
    const inForce = async () => {
      await followed.refresh();
      return followed.current.policy.files.map(({ text }) => text);
    };
    followed.use(async ({ policy }) => {
      for (const { problem, text } of policy.files)
        if (problem !== undefined || text === "wrong") throw new Error(problem ?? "a rule is wrong");
    });
    expect(await inForce()).toEqual([""]);
    write("one", "a.cedar");
    expect(await inForce()).toEqual(["one"]);
    write("two", "a.cedar");
    expect(await inForce()).toEqual(["two"]);
    write("wrong", "a.cedar");
    expect(await inForce()).toEqual(["two"]);
    write(ruled("b.cedar"));
    expect(await inForce()).toEqual(["two"]);
    expect(followed.problem).toContain("ptc.yaml:1: policy: 'b.cedar' does not exist");
    write("wrong", "b.cedar");
    expect(await inForce()).toEqual(["two"]);
    write("three", "b.cedar");
    expect(await inForce()).toEqual(["three"]);
    expect(followed.problem).toBeUndefined();
    expect(edits.at(-1)).toBe("the files of rules were edited, and are in force");
  });

  it("stays in force when the next cannot be taken into use", async () => {
    const { write, blocked, followed } = await follow(blocking("a"));
    followed.use(async () => {
      throw new Error("matches no tool");
    });
    write(blocking("b"));
    expect(await blocked()).toEqual(["a"]);
    expect(followed.problem).toContain("matches no tool");
    followed.use(async () => {});
    write(blocking("c"));
    expect(await blocked()).toEqual(["c"]);
  });

  it("is not taken from a file that is half written", async () => {
    const { write, blocked, followed } = await follow(blocking("a"));
    const seen: (readonly string[])[] = [];
    followed.use(async (next) => void seen.push(next.tools.block));
    write("servers: [{name: x, command: x}]\n");
    const refreshed = blocked();
    write(blocking("b"));
    expect(await refreshed).toEqual(["b"]);
    expect(seen).toEqual([["b"]]);
  });

  it("names the settings that need a new start", async () => {
    const { write, blocked, edits } = await follow(blocking("a"));
    write(`${blocking("a")}archive: {path: elsewhere.db}\naudit: strict\n`);
    await blocked();
    expect(edits).toEqual([
      "ptc.yaml was edited, and is in force; archive.path and audit as before until ptc is started again",
    ]);
  });
});
