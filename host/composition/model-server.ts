import { describeProblem } from "../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { ModelConnection } from "../../upstream/model/model-connection.ts";
import type { UpstreamConnection } from "../../upstream/upstream.ts";
import type { ModelServerConfiguration } from "../configuration/configuration.ts";
import { moduleUrl, version } from "../package.ts";

/** The model of `extract`. What it is sent holds nothing that is known as a secret. Loaded only where one is configured. */
export function openModelConnection(
  { name, url, model, api, maxInputBytes }: ModelServerConfiguration,
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
    redact: (value) => redactor.redactValue(value).value,
    async findMisfit(schema, value) {
      const problem = await validator.check(schema, value, name);
      return problem && describeProblem("value", problem);
    },
    onClose: () => validator.close(),
  });
}
