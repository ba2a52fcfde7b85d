import { describeProblem } from "../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { ModelServerConfiguration } from "../../configuration/configuration.ts";
import { masksOf } from "../../execution/redact-run.ts";
import type { PiiSettings } from "../../secrets/pii/pii-kinds.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { moduleUrl, version } from "../../system/package.ts";
import { ModelConnection, type Withheld } from "../../upstream/model/model-connection.ts";
import type { UpstreamConnection } from "../../upstream/upstream.ts";

/**
 * The model of `extract`. It never receives known secrets or personal data of a withheld kind. Loaded only if a model is configured.
 */
export function openModelConnection(
  { name, url, model, api, maxInputBytes, withheldPii }: ModelServerConfiguration,
  headers: Readonly<Record<string, string>>,
  redactor: Redactor,
): UpstreamConnection {
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  return new ModelConnection({
    url,
    model,
    api,
    headers,
    maxInputBytes,
    version,
    withhold: () => withhold(redactor, withheldPii),
    async findMisfit(schema, value) {
      const problem = await validator.check(schema, value, name);
      return problem && describeProblem("value", problem);
    },
    onClose: () => validator.close(),
  });
}

async function withhold(redactor: Redactor, pii: PiiSettings | undefined): Promise<Withheld> {
  if (pii === undefined) {
    return {
      redact: (value) => redactor.redactValue(value).value,
      restore: (value) => value,
      hasMarks: () => false,
    };
  }
  const { NumberedMarks } = await import("../../secrets/pii/pii-mask.ts");
  const marks = new NumberedMarks((await masksOf(pii)).mask());
  const masking = redactor.with(marks);
  return {
    redact: (value) => masking.redactValue(value).value,
    restore: (value) => marks.restore(value),
    hasMarks: () => marks.size > 0,
  };
}
