import { jsonLine } from "../../../base/json/json-line.ts";
import { RULE_SCHEMA } from "../../../broker/policy/cedar/rule-schema.ts";
import { ruleSchemaJson } from "../../../host/policy/build-rules.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { write } from "../../surroundings.ts";

/** `ptc policy schema` */
export const defineSchema: DefineCommand = (policy, surroundings, finish) => {
  policy
    .command("schema")
    .description("print what rules may speak of, as a Cedar schema, which editors check rules by")
    .option("--json", "print it in Cedar's JSON format")
    .addHelpText("after", "\nExample:\n  ptc policy schema > ptc.cedarschema\n")
    .action(async (flags: { json?: boolean }) => {
      const text = flags.json ? `${jsonLine(await ruleSchemaJson())}\n` : RULE_SCHEMA;
      await write(surroundings.stdout, text);
      finish(EXIT.done);
    });
};
