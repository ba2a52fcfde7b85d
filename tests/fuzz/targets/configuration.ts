import assert from "node:assert/strict";
import { ConfigurationError } from "../../../configuration/configuration-error.ts";
import { parseConfiguration } from "../../../configuration/parse.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileYaml } from "../hostile/hostile-yaml.ts";

const SECRET = "s3cr3t-of-the-environment";
const ENVIRONMENT = { FIN_API_KEY: SECRET, TOKEN: "abc", EMPTY: "", HOME: "/root" };

/** A ptc.yaml that somebody else wrote: it is read, or one line says what is wrong where. */
export const target = fuzzTarget({
  name: "configuration",
  iterations: 130,
  generate: hostileYaml,
  check(input) {
    const text = input.toString("utf8");
    try {
      const configuration = parseConfiguration(text, {
        file: "ptc.yaml",
        directory: "/project",
        environment: ENVIRONMENT,
      });
      canonicalJson(configuration);
      const { execution, archive } = configuration;
      for (const number of [...Object.values(execution), archive.keepDays]) {
        if (typeof number === "number")
          assert.ok(number > 0 && Number.isFinite(number), `a limit of ${number}`);
      }
      for (const { name } of configuration.servers) assert.match(name, /^[A-Za-z0-9._-]{1,64}$/);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      assert.doesNotMatch(
        error.message,
        /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u,
        "a message steers a terminal",
      );
      assert.match(error.message, /^ptc\.yaml:\d+: .+$/, "a message is one line that names file and line");
      assert.ok(error.message.length < 2_000, "a message is bounded");
      assert.ok(!error.message.includes(SECRET), "a message holds a secret");
      const line = Number(/^ptc\.yaml:(\d+)/.exec(error.message)?.[1]);
      assert.ok(line >= 1 && line <= text.split("\n").length + 1, `there is no line ${line}`);
    }
  },
});
