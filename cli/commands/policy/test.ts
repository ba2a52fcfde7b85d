import { jsonLine } from "../../../base/json/json-line.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { visibleLine } from "../../../base/text/visible-text.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { type CaseResult, tryPolicyCases } from "../../../host/policy/policy-cases.ts";
import { readTextFile } from "../../arguments/text-file.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

const MAX_CASES_BYTES = 4 * 1024 * 1024;

interface TestFlags {
  config?: string;
  json?: boolean;
}

const EXAMPLE = `
Example:
  ptc policy test policy-tests.yaml

A file of cases:
  cases:
    - name: nothing of the vault goes to the web
      tool: mcp__web__fetch
      arguments: { url: "https://example.com" }
      read: [mcp__vault__get_secret]   # what the run has read before
      expect: deny                     # allow, ask, deny, hidden (not in search, lists and modules) or visible
      rule: no-web-after-secrets       # optional: the entry or rule that decides
A case may also have principal (local), groups, source (run, serve, call), time, calls, calls_of_tool and annotations.
`;

/** `ptc policy test FILE` */
export const defineTest: DefineCommand = (policy, surroundings, finish) => {
  policy
    .command("test")
    .description(
      "try what would be decided about calls; exit 1 when a case comes out otherwise than expected",
    )
    .argument("<file>", "cases in YAML")
    .option("--config <file>", "configuration file")
    .option("--json", "print the results as JSON")
    .addHelpText("after", EXAMPLE)
    .action(async (file: string, flags: TestFlags) => {
      finish(await test(file, flags, surroundings));
    });
};

async function test(file: string, flags: TestFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, env } = surroundings;
  const cwd = surroundings.cwd();
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd });
  const text = await readTextFile(file, cwd, MAX_CASES_BYTES);
  const results = await tryPolicyCases(configuration, text, file);
  const failed = results.filter(({ ok }) => !ok).length;
  if (flags.json) await write(stdout, `${jsonLine(results)}\n`);
  else {
    for (const result of results) await write(stdout, `${render(result)}\n`);
    await write(stdout, `${results.length - failed} of ${results.length} cases came out as expected\n`);
  }
  return failed === 0 ? EXIT.done : EXIT.failed;
}

function render({ ok, name, line, expected, decided, rule, reason }: CaseResult): string {
  const what = `${ok ? "ok     " : "FAILED "} ${visibleLine(name)}`;
  if (ok) return what;
  const why = [rule, reason].filter((each) => each !== undefined).join(": ");
  return `${what} (line ${line})\n        expected ${expected}, decided ${decided}${why === "" ? "" : ` by ${oneLine(why)}`}`;
}
