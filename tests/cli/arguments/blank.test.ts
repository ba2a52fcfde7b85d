import { expect, it } from "vitest";
import { allCommands } from "../help/printed-examples.ts";
import { projectInProcess } from "../ptc-in-process.ts";

it.each([
  ["approvals", "approve", ""],
  ["approvals", "approve", " \t"],
  ["approvals", "deny", ""],
  ["approvals", "show", ""],
  ["runs", "show", ""],
  ["runs", "prune", "abcd", ""],
  ["runs", "export", "", "--out", "x"],
  ["runs", "list", "--digest", ""],
  ["replay", ""],
  ["policy", "explain", ""],
  ["save", ""],
  ["test", ""],
  ["sessions", "end", ""],
  ["inspect", ""],
  ["list", ""],
  ["generate", ""],
  ["call", ""],
  ["auth", "login", ""],
  ["learn", "forget", ""],
  ["run", ""],
  ["run", "--ticket", ""],
  ["run", "p.ts", "--ticket="],
  ["run", "p.ts", "--approve", ""],
  ["run", "p.ts", "--session", " "],
  ["call", "a.b", "--approve", ""],
  ["replay", "abcd", "--live", "--approve", "x", "--approve", ""],
])(
  "ptc %s %s %s %s: what is empty names nothing, and least of all the only one that there is",
  async (...args) => {
    const { ptc } = projectInProcess({ servers: [] });
    expect(await ptc(args)).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(/^ptc: [^\n]+ is empty; is a variable unset\?\n$/),
    });
  },
);

it("what is passed on to a tool, a server or a saved program may be empty", async () => {
  const { program } = await allCommands();
  for (const words of [
    ["call", "a.b", ""],
    ["add", "name", "--", "command", ""],
    ["run", "name", ""],
  ])
    await program.parseAsync(words, { from: "user" });
  await expect(program.parseAsync(["call", " "], { from: "user" })).rejects.toThrow("tool is empty");
});
