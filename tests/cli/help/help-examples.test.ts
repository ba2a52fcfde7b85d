import { type Command, CommanderError } from "commander";
import { beforeAll, describe, expect, it } from "vitest";
import { allCommands, examplesOf } from "./printed-examples.ts";

describe("the examples that commands print in their help", () => {
  let program: Command;
  let helps: Map<string, string>;
  beforeAll(async () => {
    ({ program, helps } = await allCommands());
  });

  it("are there for every command, and are of that command", () => {
    expect(helps.size).toBeGreaterThan(30);
    const without = [...helps].filter(
      ([path, help]) => !examplesOf(help).some((words) => words.join(" ").startsWith(path)),
    );
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it("can be called as they are printed", async () => {
    const refused: string[] = [];
    for (const [path, help] of helps)
      for (const words of examplesOf(help)) {
        // A command keeps what an earlier example has set, but none depends on it.
        const failure = await program.parseAsync(words, { from: "user" }).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure instanceof CommanderError && failure.exitCode === 0) continue;
        if (failure !== undefined) refused.push(`${path}: ptc ${words.join(" ")}: ${String(failure)}`);
      }
    expect(refused).toEqual([]);
    await expect(program.parseAsync(["runs", "list", "--unknown"], { from: "user" })).rejects.toThrow(
      "unknown option",
    );
  });
});

it("ptc --help begins with the commands that one needs first, and has every other in a group", async () => {
  const { program } = await allCommands();
  const help = program.helpInformation();
  const groups = [...help.matchAll(/^(\S.*):\n((?: {2}.*\n)+)/gm)].map(([, title, lines = ""]) => ({
    title,
    commands: lines.split("\n").flatMap((line) => /^ {2}([a-z]+)/.exec(line)?.[1] ?? []),
  }));
  expect(groups.find(({ commands }) => commands.length > 0)).toEqual({
    title: "Start here: `up` does these in this order",
    commands: ["up", "doctor", "image", "init", "generate", "install"],
  });
  expect(groups.map(({ title }) => title)).not.toContain("Commands");
  expect(groups.flatMap(({ commands }) => commands)).toEqual(
    expect.arrayContaining(program.commands.map((command) => command.name())),
  );
});
