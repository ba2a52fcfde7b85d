import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { listUpTo, oneLine, visibleLine } from "../../base/visible-text.ts";
import type { Project } from "../../project/open-project.ts";
import { type ObservedServer, observeServer } from "../../project/servers/observe-server.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

const MAX_WANTED_CHARS = 500;

/** `ptc servers ...`: servers in sandboxes. */
export const serversCommand = defineGroup(
  "servers",
  () => [defineObserve],
  (command) =>
    command
      .description("learn what servers need of their sandboxes")
      .addHelpText("after", "\nExample:\n  ptc servers observe github\n"),
);

/** `ptc servers observe` */
const defineObserve = defineProjectCommand("observe <server>", observe, (command) =>
  command
    .description(
      "start a server over stdio in a sandbox, and print the `sandbox:` that it needs, by what it asked for now and in earlier use",
    )
    .option(...CONFIG)
    .option("--json", "print what was seen as JSON")
    .addHelpText("after", "\nExample:\n  ptc servers observe github\n"),
);

async function observe(
  project: Project,
  name: string,
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const stop = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const seen = await observeServer(project, name, stop.signal);
  if (seen === undefined) {
    const known = project.configuration.servers.flatMap((each) =>
      each.transport === "stdio" ? each.name : [],
    );
    throw new UsageError(
      `there is no server '${name}' with a command; there is ${known.join(", ") || "none"}`,
    );
  }
  const { tools, problem, wanted } = seen;
  await write(stdout, flags.json ? `${jsonLine(seen)}\n` : renderSandbox(seen));
  if (problem !== undefined) await tell(stderr, oneLine(problem));
  else {
    const asked =
      wanted.length === 0
        ? "it asked for no host beyond its entry"
        : `it asked for ${visibleLine(listUpTo(wanted, MAX_WANTED_CHARS))}, which its entry does not have`;
    await tell(stderr, `'${name}' listed ${countNoun(tools ?? 0, "tool")}; ${asked}`);
  }
  return problem === undefined ? EXIT.done : EXIT.failed;
}

/** The entry in YAML. Names that the server asked for are its own words, and stand in quotes. */
function renderSandbox({ network, files, memoryMb }: ObservedServer): string {
  const lines = [
    "sandbox:",
    `  network: [${network.map((host) => JSON.stringify(host)).join(", ")}]`,
    files.length === 0 ? "  files: []" : "  files:",
    ...files.map(
      ({ path, write }) => `    - { path: ${JSON.stringify(path)}${write === true ? ", write: true" : ""} }`,
    ),
    `  memory_mb: ${memoryMb}`,
  ];
  return `${lines.map(visibleLine).join("\n")}\n`;
}
