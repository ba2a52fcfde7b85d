import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { withArchive } from "./with-archive.ts";

interface VerifyFlags {
  config?: string;
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
    .option("--json", "print what was found as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs verify --json | jq -r .head\n")
    .action(async (flags: VerifyFlags) => {
      finish(await verify(flags, surroundings));
    });
};

async function verify(flags: VerifyFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.done;
    const verification = await archive.verify();
    const { runs, blobs, problems, head } = verification;
    const checked = `${countNoun(runs, "run")} and ${countNoun(blobs, "value")}`;
    if (flags.json) {
      await write(stdout, `${jsonLine(verification)}\n`);
    } else if (problems.length === 0) {
      await write(stdout, `${checked} are as they were archived; the newest record's link is ${head}\n`);
    } else {
      await write(stdout, problems.map((problem) => `${oneLine(problem)}\n`).join(""));
      await write(
        stderr,
        `ptc: of ${checked}, ${countNoun(problems.length, "thing")} not as archived: do not trust them\n`,
      );
    }
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  });
}
