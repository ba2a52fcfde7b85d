import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { describeRuleProblem } from "../../../host/policy/build-rules.ts";
import { checkPolicy } from "../../../host/policy/check-policy.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

interface CheckFlags {
  config?: string;
  json?: boolean;
}

/** `ptc policy check` */
export const defineCheck: DefineCommand = (policy, surroundings, finish) => {
  policy
    .command("check")
    .description("check every rule; exit 2 when one is wrong")
    .option("--config <file>", "configuration file")
    .option("--json", "print what was found as JSON")
    .addHelpText("after", "\nExample:\n  ptc policy check\n")
    .action(async (flags: CheckFlags) => {
      finish(await check(flags, surroundings));
    });
};

async function check(flags: CheckFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const { rules, errors, warnings } = await checkPolicy(configuration);
  if (flags.json) await write(stdout, `${jsonLine({ rules, errors, warnings })}\n`);
  else {
    for (const problem of errors) await write(stderr, `ptc: ${oneLine(describeRuleProblem(problem))}\n`);
    for (const problem of warnings)
      await write(stderr, `ptc: warning: ${oneLine(describeRuleProblem(problem))}\n`);
    const files = countNoun(configuration.policy.files.length, "file");
    const found = `${countNoun(errors.length, "mistake")}, ${countNoun(warnings.length, "warning")}`;
    await write(stdout, `${countNoun(rules, "rule")} in ${files}: ${found}\n`);
  }
  return errors.length === 0 ? EXIT.done : EXIT.usage;
}
