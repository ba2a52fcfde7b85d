import { resolve } from "node:path";
import type { ChainEnd } from "../../../archive/audit/chain/chain-link.ts";
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

interface VerifyFlags {
  config?: string;
  head?: string;
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
    .option("--head <seq:digest>", "the last line at an earlier time, as this command printed it then")
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      '\nFiles are those of the log that were moved elsewhere.\n\nExample:\n  ptc audit verify --head "$(cat kept-elsewhere)"\n',
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
  const expected = flags.head === undefined ? [] : [parseHeadFlag(flags.head)];
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
    `--head: '${text.slice(0, 100)}' is not SEQ:sha256:DIGEST, as \`ptc audit verify\` prints it`,
  );
}
