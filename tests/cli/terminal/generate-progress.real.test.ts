import { describe, expect, test } from "vitest";
import { fixtureServer, usePtc } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "./run-on-terminal.ts";

const newProject = usePtc();

describe.skipIf(!hasPython)(`ptc generate on a real terminal${WITHOUT_PYTHON}`, () => {
  const project = (hangsForSeconds: number) =>
    newProject({
      "ptc.yaml": {
        servers: [
          { ...fixtureServer("hangs", "never-answers.mjs"), connect_timeout_seconds: hangsForSeconds },
          fixtureServer("echoes", "echo-v1.mjs"),
          fixtureServer("ends", "exits-at-once.mjs"),
        ],
      },
    });
  /** What the screen showed, with `<clear>` for the sequence that clears a line. */
  const generate = async (hangsForSeconds: number, steps: [string, string][], CI?: string) =>
    (await onTerminal(project(hangsForSeconds), steps, ["generate"], { CI })).replaceAll(
      "\r\u001b[K",
      "<clear>",
    );

  test("shows which servers it waits for, and leaves nothing of that", async () => {
    const screen = await generate(2, []);
    expect(screen).toContain("<clear>ptc: 0 done, 0 s; listing hangs, echoes, ends<clear>");
    const left = screen.slice(screen.indexOf("<clear>ptc: warning: ") + "<clear>".length);
    expect(left).not.toContain("<clear>");
    expect(left).toContain("1 of 3 servers listed");
  });

  test("shows a line for each in CI", async () => {
    const screen = await generate(2, [], "true");
    expect(screen).not.toContain("<clear>");
    for (const line of ["listing 3 servers", "echoes: 2 tools", "ends: failed", "hangs: failed"])
      expect(screen.split("\n")).toContain(`ptc: ${line}`);
  });

  test("shows which have failed, and leaves nothing when it is interrupted", async () => {
    const screen = await generate(600, [["1 done, \\d+ s; listing hangs; failed: ends", "\u0003"]]);
    expect(screen).toMatch(/<clear>$/);
  });
});
