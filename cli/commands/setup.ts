/** `ptc setup`: what this machine lacks to run programs in gVisor, found out, said, and done step by step. */
import { spawn } from "node:child_process";
import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { findEngine, prepareSetup, type SetupPlan, type SetupStep } from "../../project/setup/setup.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { defineCommand, EXIT, type ExitCode, write } from "../command.ts";
import { canAsk, isConfirmed } from "./configuration/client-files.ts";

interface SetupFlags {
  print?: boolean;
  undo?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `ptc setup` */
export const setupCommand = defineCommand("setup", setup, (command) =>
  command
    .description(
      "set up gVisor on this machine, step by step: Docker and gVisor from packages, or a virtual machine on a Mac",
    )
    .option("--print", "only say what it would do")
    .option("--undo", "take back what it has set up")
    .option("--yes", "do every step without a question")
    .option("--json", "print the steps as JSON, and do nothing")
    .addHelpText(
      "after",
      "\nEach step is a command that is shown first, and done when you say yes. Where nobody can be asked, and without --yes, it does\nnothing: it prints the steps, and exits with 2 if there are any.\n\nExamples:\n  ptc setup --print\n  ptc setup --yes\n",
    ),
);

async function setup(flags: SetupFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const place = { env, cwd: surroundings.cwd() };
  const { machine, ready, plan } = await prepareSetup(place, { isUndo: flags.undo === true });
  const { steps, advice } = plan;
  if (flags.json) {
    await write(stdout, `${jsonLine({ machine, ready: ready ?? null, steps, advice })}\n`);
    return EXIT.done;
  }
  await write(stdout, `This machine: ${machine}\n`);
  if (ready !== undefined) {
    await write(stdout, `Nothing is to be done: ${ready}.\n`);
    return EXIT.done;
  }
  const mayAsk = canAsk(surroundings);
  if (flags.print || (!flags.yes && !mayAsk)) {
    await write(stdout, `${describePlan(plan)}\n`);
    return flags.print || steps.length === 0 ? endOf(plan, flags) : EXIT.usage;
  }
  for (const [index, step] of steps.entries()) {
    const number = `${index + 1}/${steps.length}`;
    await write(stdout, `\n${number}  ${step.does}\n     ${commandLine(step)}\n`);
    if (!flags.yes && !(await isConfirmed("Do it?", surroundings))) {
      await write(stdout, "Left out, and so is what follows. `ptc setup` goes on from there.\n");
      return EXIT.failed;
    }
    const failure = await carryOut(step, surroundings);
    if (failure === undefined) continue;
    await write(stdout, `${number}  failed: ${failure}\n`);
    return EXIT.failed;
  }
  for (const line of advice) await write(stdout, `${line}\n`);
  if (steps.length === 0 || flags.undo) return endOf(plan, flags);
  const now = await findEngine(place);
  if (now === undefined) {
    await write(stdout, "ptc finds no engine with gVisor yet; `ptc doctor` says why.\n");
    return EXIT.noSandbox;
  }
  await write(stdout, `Done: ${now}. Next: ptc up\n`);
  return EXIT.done;
}

/** The exit code where nothing is done: whether the person has to do something. */
function endOf({ steps, advice }: SetupPlan, { undo }: SetupFlags): ExitCode {
  return steps.length === 0 && advice.length > 0 && undo !== true ? EXIT.noSandbox : EXIT.done;
}

function describePlan({ steps, advice }: SetupPlan): string {
  const lines = steps.flatMap((step, index) => [`${index + 1}. ${step.does}`, `     ${commandLine(step)}`]);
  return [...lines, ...advice].join("\n") || "There is nothing to take back.";
}

/** A command as a shell reads it. */
function commandLine({ command }: SetupStep): string {
  return command
    .map((word) => (/^[\w./=:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

/** Runs a step on the person's terminal, which it may ask for a password. @returns why it failed. */
function carryOut({ command }: SetupStep, { env, stdout }: Surroundings): Promise<string | undefined> {
  const [name = "", ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(name, args, { env: { ...env }, stdio: ["inherit", "pipe", "inherit"] });
    child.stdout.on("data", (chunk: Buffer) => stdout.write(chunk));
    child.on("error", (error) => resolve(messageOf(error)));
    child.on("close", (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(`${name} ended with ${signal ?? code}`);
    });
  });
}
