import { hostname, userInfo } from "node:os";
import { PassThrough, Writable } from "node:stream";
import { describe, expect, it, test } from "vitest";
import { write } from "../../cli/command.ts";
import { localContext } from "../../project/local-user.ts";
import { allCommands } from "./help/printed-examples.ts";
import { projectInProcess } from "./in-process.ts";

describe("writing to a stream", () => {
  it("leaves no listener behind, however many texts are written", async () => {
    const stream = new PassThrough().resume();
    for (let i = 0; i < 20; i++) await write(stream, `${i}\n`);
    expect(stream.listenerCount("error")).toBe(0);
  });

  it("is no error when the reader has disconnected", async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    await Promise.all([write(stream, "first"), write(stream, "second")]);
    await write(stream, "third");
    expect(stream.errored?.message).toBe("EPIPE");
  });
});

test.each([
  ["7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b", "7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b"],
  [undefined, undefined],
  ["", undefined],
  ["two words", undefined],
  ["\u001b[2J", undefined],
  ["a".repeat(129), undefined],
])("a client that calls its conversation %j has its runs carry %j", (given, clientSession) => {
  const context = localContext("run", { CLAUDE_CODE_SESSION_ID: given });
  expect(context).toEqual({
    principal: "local",
    source: "run",
    actor: { user: userInfo().username, uid: process.getuid?.(), host: hostname() },
    client: { name: "ptc run" },
    ...(clientSession !== undefined && { clientSession }),
  });
});

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
