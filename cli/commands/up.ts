/**
 * `ptc up`: everything between an installed ptc and a first program, one step after the other. A step first looks whether it is done
 * already, so the command can be run again at any time and goes on where it stopped. What a step does is another command of ptc.
 */

import { Readable } from "node:stream";
import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { searchServers } from "../../project/clients/found-servers.ts";
import { clientNamed, examineClient, KNOWN_CLIENTS, type OwnEntry } from "../../project/clients/own-entry.ts";
import { examineEngine, examineModules } from "../../project/doctor/examine.ts";
import type { Project } from "../../project/open-project.ts";
import { warmSandbox } from "../../project/sandboxes/sandboxes.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { CONFIG, type CommonFlags, defineCommand, EXIT, type ExitCode, write } from "../command.ts";
import { inProject, openProjectOf } from "../project-command.ts";
import { ask, canAsk } from "./configuration/client-files.ts";
import { init } from "./configuration/init.ts";
import { install } from "./configuration/install.ts";
import { generate } from "./generate.ts";
import { build } from "./image.ts";

interface UpFlags extends CommonFlags {
  yes?: boolean;
  client: string;
}

/** `ptc up` */
export const upCommand = defineCommand("up", up, (command) =>
  command
    .description("set ptc up here, step by step, up to a first program; asks before each step")
    .option(...CONFIG)
    .option("--client <client>", `the client that gets ptc: ${KNOWN_CLIENTS}`, "claude")
    .option("--yes", "do every step without a question")
    .option("--json", "print what was done as JSON at the end")
    .addHelpText(
      "after",
      "\nA step that is done already is left as it is, so `ptc up` can be run again at any time. Where nobody can be asked, and without\n--yes, it does nothing: it prints the steps that are left, and exits with 2 if there are any.\n\nExamples:\n  ptc up\n  ptc up --yes --client cursor\n",
    ),
);

/** What a step finds. */
type Look =
  | { state: "done"; detail: string }
  /** @property detail what the step would do, as a question without its mark. */
  | { state: "to do"; detail: string }
  /** It cannot be done here before somebody does something else. */
  | { state: "blocked"; detail: string; exitCode: ExitCode };

interface Step {
  name: string;
  look(): Promise<Look>;
  /** Does what `look` found to do. @returns whether later steps can follow. */
  carryOut(surroundings: Surroundings): Promise<ExitCode>;
  /** Later steps do not need it. */
  isOptional?: true;
}

interface SettledStep {
  step: string;
  state: "done before" | "done" | "left out" | "to do" | "failed" | "blocked";
  detail: string;
}

async function up(flags: UpFlags, surroundings: Surroundings): Promise<ExitCode> {
  const client = clientNamed("--client", flags.client);
  const screen = flags.json ? surroundings.stderr : surroundings.stdout;
  const asks = flags.yes !== true && canAsk(surroundings);
  const isPlan = flags.yes !== true && !asks;
  // A step may choose the engine for those after it.
  const env = { ...surroundings.env };
  // What steps print of their own is not the output of this command, and with --yes nothing is asked.
  const parts: Surroundings = {
    ...surroundings,
    env,
    stdout: screen,
    ...(flags.yes ? { stdin: Readable.from([]) } : {}),
  };
  const settled: SettledStep[] = [];
  const steps = stepsOf(client, flags, { ...surroundings, env }, asks);
  const note = async (step: Step, state: SettledStep["state"], detail: string) => {
    settled.push({ step: step.name, state, detail });
    const place = `${settled.length}/${steps.length}`;
    await write(screen, `${place}  ${step.name.padEnd(8)} ${state}: ${oneLine(detail)}\n`);
  };
  const finish = async (exitCode: ExitCode, next: string) => {
    if (flags.json)
      await write(surroundings.stdout, `${jsonLine({ ok: exitCode === EXIT.done, steps: settled, next })}\n`);
    else await write(screen, `${next}\n`);
    return exitCode;
  };
  const failed = (step: Step) => async (error: unknown) => {
    await note(step, "failed", messageOf(error));
    await finish(EXIT.failed, GO_ON);
    throw error;
  };
  let exitCode: ExitCode = EXIT.done;
  for (const step of steps) {
    const found = await step.look().catch(failed(step));
    if (found.state === "done") {
      await note(step, "done before", found.detail);
    } else if (found.state === "blocked" && !isPlan) {
      await note(step, "blocked", found.detail);
      if (!step.isOptional) return finish(found.exitCode, GO_ON);
      exitCode = found.exitCode;
    } else if (isPlan) {
      await note(step, found.state, found.detail);
      exitCode = EXIT.usage;
    } else {
      if (asks) {
        const answer = await ask(`\n${found.detail}? [Y/n]: `, surroundings);
        if (answer === undefined || !/^\s*(?:y|yes)?\s*$/i.test(answer)) {
          await note(step, "left out", found.detail);
          if (step.isOptional && answer !== undefined) continue;
          return finish(EXIT.failed, GO_ON);
        }
      }
      await write(screen, `${settled.length + 1}/${steps.length}  ${step.name.padEnd(8)} ...\n`);
      const code = await step.carryOut(parts).catch(failed(step));
      if (code !== EXIT.done) {
        await note(step, "failed", "see above");
        return finish(code, GO_ON);
      }
      const after = await step.look().catch(failed(step));
      await note(step, "done", after.state === "done" ? after.detail : found.detail);
    }
  }
  if (isPlan && exitCode !== EXIT.done)
    return finish(
      exitCode,
      "Nothing was done, as nobody can be asked here. `ptc up --yes` does these steps.",
    );
  return finish(exitCode, exitCode === EXIT.done ? await describeNext(client, flags, surroundings) : GO_ON);
}

const GO_ON = "`ptc up` goes on from there when you run it again.";

/** @param asks whether somebody can be asked. */
function stepsOf(
  client: OwnEntry["client"],
  flags: UpFlags,
  surroundings: Surroundings,
  asks: boolean,
): Step[] {
  const { env } = surroundings;
  const { config } = flags;
  const load = async () => (await openProjectOf(flags, surroundings)).configuration;
  const common = config === undefined ? {} : { config };
  return [
    {
      name: "sandbox",
      async look() {
        const configuration = await load();
        const wrong = await examineEngine(configuration, { env });
        const isWasm = configuration.sandbox.engine === "wasm";
        if (wrong === undefined || wrong.part === "image")
          return { state: "done", detail: isWasm ? WEAKER_WALL : "an engine with gVisor is here" };
        // Nobody has chosen an engine yet, so that somebody can be asked.
        const isOpen = configuration.file === undefined && (env.PTC_ENGINE ?? "") === "";
        if (asks && isOpen)
          return {
            state: "to do",
            detail: `There is no gVisor here (${wrong.detail}). Run programs in interpreters in WebAssembly until there is: a weaker wall, behind which calls that may change something ask you first`,
          };
        return { state: "blocked", detail: withoutSandbox(wrong.detail, isOpen), exitCode: EXIT.noSandbox };
      },
      async carryOut() {
        env.PTC_ENGINE = "wasm";
        return EXIT.done;
      },
    },
    {
      name: "image",
      async look() {
        const wrong = await examineEngine(await load(), { env });
        if (wrong === undefined) return { state: "done", detail: "the image that programs run in is here" };
        return { state: "to do", detail: "Build the image that programs run in (a minute, once)" };
      },
      carryOut: (parts) => build(common, parts),
    },
    {
      name: "servers",
      async look() {
        const configuration = await load();
        const { file, servers } = configuration;
        if (servers.length > 0)
          return { state: "done", detail: `${file} has ${countNoun(servers.length, "server")}` };
        if (file !== undefined)
          return {
            state: "blocked",
            detail: `${file} names no servers; \`ptc init --import\` takes over those of another client, and ${ADD}`,
            exitCode: EXIT.usage,
          };
        // Nothing is asked here: it only counts.
        const found = await searchServers(surroundings);
        if (found.servers.length === 0)
          return {
            state: "blocked",
            detail: `no client on this machine has servers that ptc can use: \`ptc init\` writes ptc.yaml, and ${ADD}`,
            exitCode: EXIT.usage,
          };
        const names = found.servers.map(({ entry }) => entry.name).join(", ");
        return {
          state: "to do",
          detail: `Write ptc.yaml with servers of the clients on this machine (${oneLine(names, 200)})`,
        };
      },
      carryOut: (parts) => init({ import: true, isStep: true, ...(flags.yes ? { all: true } : {}) }, parts),
    },
    {
      name: "modules",
      async look() {
        const configuration = await load();
        const { ungenerated, unlisted, known } = await examineModules(configuration, env);
        if (configuration.file === undefined || ungenerated !== undefined)
          return { state: "to do", detail: "Start each server once, and write typed modules of its tools" };
        if (known === 0)
          return {
            state: "to do",
            detail: `Try the servers again: ${unlisted?.detail ?? "none has a module"}`,
          };
        const detail = unlisted === undefined ? "" : `; ${unlisted.detail}`;
        return { state: "done", detail: `generated/ has ${countNoun(known, "server")}${detail}` };
      },
      async carryOut(parts) {
        const code = await inProject(common, parts, (project) => generate(project, [], common, parts));
        const { known } = await examineModules(await load(), env);
        // A server that is broken keeps no other from working.
        return code === EXIT.failed && known > 0 ? EXIT.done : code;
      },
    },
    {
      name: "client",
      isOptional: true,
      async look() {
        const { title, file, has, problem } = await examineClient(client, surroundings);
        if (problem !== undefined) return { state: "blocked", detail: problem, exitCode: EXIT.usage };
        return has === undefined
          ? { state: "to do", detail: `Write ptc into the configuration of ${title} (${file})` }
          : { state: "done", detail: `${title} has ${has}` };
      },
      carryOut: (parts) =>
        install(client, { ...common, scope: "project", name: "ptc", yes: true, keep: true }, parts),
    },
    {
      name: "program",
      isOptional: true,
      async look() {
        const hasRun = await inProject(
          common,
          surroundings,
          async ({ configuration, runs }) => configuration.file !== undefined && (await runs.exists()),
        );
        return hasRun
          ? { state: "done", detail: "something has run here; `ptc runs list` shows it" }
          : { state: "to do", detail: "Run a first program" };
      },
      carryOut: async (parts) => runFirst(await openProjectOf(common, parts), flags, parts),
    },
  ];
}

const ADD = "`ptc add NAME -- COMMAND` or `ptc add NAME URL` adds a server";

const WEAKER_WALL = "programs run in interpreters in WebAssembly, a weaker wall than gVisor's";

/** @param isOpen whether nobody has chosen an engine. */
function withoutSandbox(why: string, isOpen: boolean): string {
  const setup = "; `ptc setup` installs Docker and gVisor, or says what to do";
  const wasm = isOpen
    ? "; `PTC_ENGINE=wasm ptc up` needs neither, and has a weaker wall"
    : "; `sandbox: { engine: wasm }` in ptc.yaml needs neither, and has a weaker wall";
  return `no program can run here yet: ${why}${setup}${wasm}. Without a sandbox \`ptc init\`, \`ptc generate\`, \`ptc list\`, \`ptc search\` and \`ptc call\` work all the same`;
}

/**
 * Runs a program that calls a tool that only reads and needs no arguments, or that calls nothing if there is none. The program shows
 * what the tool answers, also if that is a failure.
 */
async function runFirst(project: Project, flags: UpFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { firstProgram } = await import("../../project/run-program.ts");
  const program = await firstProgram(project);
  await write(surroundings.stderr, `${program.code.trimEnd().replaceAll(/^/gm, "    ")}\n`);
  const cancel = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) surroundings.on(signal, () => cancel.abort());
  const { run } = await import("./run.ts");
  const warmed = await warmSandbox(project, program.language);
  return run(
    {
      program,
      project,
      cancel,
      warmed,
      said: [],
      timeoutMs: undefined,
      typecheck: undefined,
    },
    { file: [], approve: [], ...(flags.config === undefined ? {} : { config: flags.config }) },
    surroundings,
  );
}

async function describeNext(
  client: OwnEntry["client"],
  flags: UpFlags,
  surroundings: Surroundings,
): Promise<string> {
  const { next } = await examineClient(client, surroundings);
  const configured = flags.config === undefined ? "" : ` --config ${flags.config}`;
  return [
    `ptc is set up. Next: ${next}.`,
    "Then give it a task that needs several tools, such as: compare two lists, and write what differs into a file.",
    `\`ptc runs list${configured}\` shows what ran, \`ptc console${configured}\` the same in your browser, and \`ptc doctor${configured}\` tries every server.`,
  ].join("\n");
}
