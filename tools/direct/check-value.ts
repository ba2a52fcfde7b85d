import { describeProblem } from "../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { moduleUrl } from "../../system/package.ts";

let validator: IsolatingValidator | undefined;

/** Why a value is not what a schema allows, in one line. Nothing is loaded before the first value. */
export async function checkValue(schema: unknown, value: unknown): Promise<string | undefined> {
  validator ??= new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const problem = await validator.check(schema, value);
  return problem && describeProblem("value", problem);
}
