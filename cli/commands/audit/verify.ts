import { resolve } from "node:path";
import { type ChainHead, readHead } from "../../../archive/audit/chain/chain-head.ts";
import type { ChainEnd } from "../../../archive/audit/chain/chain-link.ts";
import { logFiles } from "../../../archive/audit/chain/log-files.ts";
import { verifyLog } from "../../../archive/audit/chain/verify-log.ts";
import { messageOf } from "../../../base/error-message.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { auditPath } from "../../../host/audit/open-audit.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

interface HeadFlags {
  config?: string;
  json?: boolean;
}

/** `ptc audit head` */
export const defineAuditHead: DefineCommand = (audit, surroundings, finish) => {
  audit
    .command("head")
    .description("print the last line's number and digest, to be kept where this machine cannot change it")
    .option("--config <file>", "configuration file")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc audit head | ssh keeper 'cat >> heads'\n")
    .action(async (flags: HeadFlags, command: { optsWithGlobals(): HeadFlags }) => {
      finish(await printHead({ ...command.optsWithGlobals(), ...flags }, surroundings));
    });
};

async function printHead(flags: HeadFlags, { env, cwd, stdout, stderr }: Surroundings): Promise<ExitCode> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  const { current, head: path } = logFiles(auditPath(configuration));
  let head: ChainHead | undefined;
  try {
    head = readHead(path);
  } catch (error) {
    await write(stderr, `ptc: ${path} cannot be read: ${oneLine(messageOf(error))}\n`);
    return EXIT.failed;
  }
  if (head === undefined || head.seq === 0) {
    await write(stderr, `ptc: no line of ${current} is in a chain, so that it has no head\n`);
    return EXIT.failed;
  }
  const { seq, hash } = head;
  await write(stdout, `${flags.json ? jsonLine({ seq, digest: hash }) : `${seq}:${hash}`}\n`);
  return EXIT.done;
}

interface VerifyFlags {
  config?: string;
  head?: string[];
  json?: boolean;
}

/** `ptc audit verify` */
export const defineVerifyAudit: DefineCommand = (audit, surroundings, finish) => {
  audit
    .command("verify [files...]")
    .description(
      "find lines of the audit log that were removed, edited, reordered or cut off; exit 1 when there are any",
    )
    .option("--config <file>", "configuration file")
    .option(
      "--head <seq:digest>",
      "the last line at an earlier time, as `ptc audit head` printed it then and another machine kept it (repeatable)",
      (value: string, heads: string[] = []) => [...heads, value],
    )
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      '\nFiles are those of the log that were moved elsewhere. With --head, all up to that line is proven to be as it was; without it, an end that was cut off together with the head beside the log is not noticed.\n\nExample:\n  ptc audit verify --head "$(ssh keeper tail -n 1 heads)"\n',
    )
    .action(async (files: string[], flags: VerifyFlags, command: { optsWithGlobals(): VerifyFlags }) => {
      finish(await verify(files, { ...command.optsWithGlobals(), ...flags }, surroundings));
    });
};

async function verify(
  files: readonly string[],
  flags: VerifyFlags,
  { env, cwd, stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const expected = (flags.head ?? []).map(parseHeadFlag);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  const path = auditPath(configuration);
  const also = files.map((file) => resolve(cwd(), file));
  let found: Awaited<ReturnType<typeof verifyLog>>;
  try {
    found = await verifyLog(path, { also, expected });
  } catch (error) {
    await write(stderr, `ptc: the audit log cannot be read: ${oneLine(messageOf(error))}\n`);
    return EXIT.failed;
  }
  const { lines, problems, notes, head } = found;
  const checked = `${countNoun(lines, "line")} in ${countNoun(found.files.length, "file")}`;
  if (flags.json) await write(stdout, `${jsonLine(found)}\n`);
  else {
    const told = problems.length === 0 ? "" : problems.map((problem) => `${oneLine(problem)}\n`).join("");
    const good =
      problems.length > 0
        ? ""
        : head === undefined
          ? `nothing is audited yet in ${path}\n`
          : `${checked} are as they were written; the last is ${head}\n`;
    await write(stdout, told + good);
  }
  for (const note of notes) await write(stderr, `ptc: note: ${oneLine(note)}\n`);
  if (problems.length === 0) return EXIT.done;
  await write(stderr, `ptc: of ${checked}, not all is as it was written: do not trust it\n`);
  return EXIT.failed;
}

function parseHeadFlag(text: string): ChainEnd {
  const [, seq, hash] = /^([1-9]\d{0,14}):(sha256:[0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw new UsageError(
    `--head: '${text.slice(0, 100)}' is not SEQ:sha256:DIGEST, as \`ptc audit head\` prints it`,
  );
}
