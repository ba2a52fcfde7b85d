import type { KeptHead } from "../../../archive/archive-store.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { withArchive } from "./with-archive.ts";

interface VerifyFlags {
  config?: string;
  head?: string[];
  json?: boolean;
}

/** `ptc runs verify` */
export const defineVerify: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("verify")
    .description(
      "check the whole archive against its digests; exit 1 when something is not as it was archived",
    )
    .option("--config <file>", "configuration file")
    .option(
      "--head <place:link>",
      "the newest record at an earlier time, as `ptc runs head` printed it then and another machine kept it (repeatable)",
      (value: string, heads: string[] = []) => [...heads, value],
    )
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      '\nWith --head, all up to that record is proven to be as it was; without it, newest records that were cut off are not noticed.\n\nExample:\n  ptc runs verify --head "$(ssh keeper tail -n 1 heads)"\n',
    )
    .action(async (flags: VerifyFlags) => {
      finish(await verify(flags, surroundings));
    });
};

async function verify(flags: VerifyFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const heads = (flags.head ?? []).map(parseHeadFlag);
  return withArchive(flags, surroundings, async (archive) => {
    // A head that was kept elsewhere says that something was archived.
    if (archive === undefined) return heads.length === 0 ? EXIT.done : EXIT.failed;
    const verification = await archive.verify(heads);
    const { runs, blobs, problems, notes, head } = verification;
    const checked = `${countNoun(runs, "run")} and ${countNoun(blobs, "value")}`;
    if (flags.json) {
      await write(stdout, `${jsonLine(verification)}\n`);
    } else if (problems.length === 0) {
      await write(stdout, `${checked} are as they were archived; the newest is ${head}\n`);
    } else {
      await write(stdout, problems.map((problem) => `${oneLine(problem)}\n`).join(""));
      await write(
        stderr,
        `ptc: of ${checked}, ${countNoun(problems.length, "thing")} not as archived: do not trust them\n`,
      );
    }
    for (const note of notes) await write(stderr, `ptc: note: ${oneLine(note)}\n`);
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  });
}

function parseHeadFlag(text: string): KeptHead {
  const [, id, link = ""] = /^(?:(\d{1,15}):)?(sha256:[0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (link !== "") return { id: id === undefined ? undefined : Number(id), link };
  throw new UsageError(
    `--head: '${text.slice(0, 100)}' is not PLACE:sha256:LINK, as \`ptc runs head\` prints it`,
  );
}

interface HeadFlags {
  config?: string;
}

/** `ptc runs head` */
export const defineHead: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("head")
    .description(
      "print the place and the link of the newest record, to be kept where this machine cannot change it",
    )
    .option("--config <file>", "configuration file")
    .addHelpText("after", "\nExample:\n  ptc runs head | ssh keeper 'cat >> heads'\n")
    .action(async (flags: HeadFlags) => {
      finish(
        await withArchive(flags, surroundings, async (archive) => {
          if (archive === undefined) return EXIT.failed;
          await write(surroundings.stdout, `${await archive.head()}\n`);
          return EXIT.done;
        }),
      );
    });
};
