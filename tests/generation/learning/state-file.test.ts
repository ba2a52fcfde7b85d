import { mkdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { addObserved, NOTHING_OBSERVED } from "../../../catalog/learned/learned-state.ts";
import { observeShape } from "../../../catalog/learned/shape.ts";
import { changeState, readState } from "../../../generation/learning/learn-types.ts";
import { sha256, temporaryFolder } from "../../archive/sample-runs.ts";

const folder = temporaryFolder();
afterAll(() => folder.remove());

const fileIn = (name: string) => join(folder.path, name, "learned.json");
const OF = { server: "docs", tool: "list", definition: sha256("definition") };

const observeOne = (path: string, member: string) =>
  changeState({ path }, async ({ position, observed }) => ({
    position: position + 1,
    observed: addObserved(observed, OF, observeShape({ [member]: 1 })),
  }));

describe("the file of observations", () => {
  it("has what all processes observed that wrote it at once, and is its user's alone", async () => {
    const path = fileIn("at-once");
    await Promise.all(["title", "owner", "size", "state", "url"].map((member) => observeOne(path, member)));
    const { position, observed } = await readState({ path: path });
    expect(position).toBe(5);
    expect([...observed.values()]).toMatchObject([{ calls: 5 }]);
    expect(readFileSync(path, "utf8")).toMatch(/owner.*size.*state.*title.*url/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is as if it were not there where ptc did not write it so, and is written anew then", async () => {
    const valid = JSON.stringify({ version: 1, position: 3, tools: [] });
    const texts = [
      "",
      "{",
      "null",
      "[]",
      valid.replace("3", "-3"),
      valid.replace("[]", '[{"tool":1}]'),
      `${valid}x`,
    ];
    for (const [i, text] of texts.entries()) {
      const path = fileIn(`broken-${i}`);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, text);
      expect(await readState({ path: path })).toEqual(NOTHING_OBSERVED);
      await observeOne(path, "title");
      expect(await readState({ path: path })).toMatchObject({ position: 1 });
    }
    const huge = fileIn("huge");
    await observeOne(huge, "title");
    truncateSync(huge, 65 * 1024 * 1024);
    expect(await readState({ path: huge })).toEqual(NOTHING_OBSERVED);
    const linked = fileIn("linked");
    mkdirSync(join(linked, ".."), { recursive: true });
    symlinkSync(fileIn("broken-0"), linked);
    expect(await readState({ path: linked })).toEqual(NOTHING_OBSERVED);
  });

  it("is left as it is where a newer ptc has written it", async () => {
    const path = fileIn("newer");
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, '{"version":2,"whatever":true}');
    expect((await observeOne(path, "title")).position).toBe(1);
    expect(readFileSync(path, "utf8")).toBe('{"version":2,"whatever":true}');
  });

  it("is reported in one line where it cannot be written", async () => {
    const path = fileIn("folder");
    mkdirSync(join(path, "something"), { recursive: true });
    await expect(observeOne(path, "title")).rejects.toThrow(
      /^.*learned\.json cannot be written \(E\w+\): check its folder and its disk$/,
    );
  });
});
