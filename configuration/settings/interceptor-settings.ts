/** The keys of `interceptors`: checks of others, which are asked about calls and their results. */
import type * as z from "zod";
import {
  expanded,
  list,
  mapping,
  oneOf,
  orEmpty,
  ownName,
  secret,
  setting,
  text,
  wholeNumber,
} from "./declare.ts";
import { secretValue } from "./server-settings.ts";
import { toolPatterns } from "./tool-patterns.ts";

const Interceptor = mapping(() => ({
  name: setting(ownName("interceptor"), "what the audit log calls it: `interceptors.NAME`"),
  on: setting(
    list(oneOf(["call", "result"]), "must be a list such as [call, result]")
      .min(1, { error: "must name call, result or both" })
      .default(["call"]),
    "what it is asked about: a `call` before it is made, its `result` before anybody gets it",
  ),
  tools: setting(orEmpty(toolPatterns()), "patterns of the tools that it is asked about; by default all"),
  url: setting(
    expanded(secret(secretValue(text(8_192)).optional())),
    "where it is asked by a POST of JSON; https, or http on this machine; a value as for `servers[].env`",
  ),
  secret: setting(
    expanded(secret(secretValue(text(1_024)).optional())),
    "what signs the request, as Standard Webhooks has it: `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`",
  ),
  command: setting(
    list(text(4_096)).min(1, { error: "must have at least a program" }).optional(),
    "a command instead of `url`, which reads the request from stdin and prints its answer, in the folder of ptc.yaml",
  ),
  timeout_seconds: setting(wholeNumber(1, 60).default(5), "how long an answer may take"),
  fail: setting(
    oneOf(["closed", "open"]).default("closed"),
    "what becomes of a call without a usable answer: `closed`, it is refused, or its result withheld; `open`, it goes on, and the audit log says so",
  ),
}));
export type InterceptorEntry = z.infer<typeof Interceptor>;

export const Interceptors = orEmpty(list(Interceptor).max(16, { error: "must be at most 16 interceptors" }));
