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

/** The keys of an interceptor but for where it is asked. */
const common = () => ({
  name: setting(ownName("interceptor"), "what the audit log calls it: `interceptors.NAME`"),
  on: setting(
    list(oneOf(["call", "result", "question"]), "must be a list such as [call, result]")
      .min(1, { error: "must name at least one of call, result, question" })
      .default(["call"]),
    "what it checks: a `call` before it is made, a `result` before anybody gets it, or, for the [reviewer](policy.md#a-reviewer), a `question` before a person is asked",
  ),
  tools: setting(orEmpty(toolPatterns()), "patterns of the tools whose calls it checks; by default all"),
});
const bounds = () => ({
  timeout_seconds: setting(wholeNumber(1, 60).default(5), "how long an answer may take"),
  fail: setting(
    oneOf(["closed", "open"]).default("closed"),
    "what happens without a usable answer: `closed`: the call is refused, or its result withheld; `open`: it goes on, and the audit log says so",
  ),
});

const Interceptor = mapping(() => ({
  ...common(),
  url: setting(
    expanded(secret(secretValue(text(8_192)).optional())),
    "the URL that receives each check as a POST of JSON; https, or http on this machine; a value as for `servers[].env`",
  ),
  secret: setting(
    expanded(secret(secretValue(text(1_024)).optional())),
    "the key that signs requests (Standard Webhooks): `whsec_` and 24 to 64 bytes in base64; a value as for `servers[].env`",
  ),
  command: setting(
    list(text(4_096)).min(1, { error: "must have at least a program" }).optional(),
    "a command instead of `url`, which reads the request from stdin and prints its answer, in the folder of ptc.yaml",
  ),
  ...bounds(),
}));
export type InterceptorEntry = z.infer<typeof Interceptor>;

const AT_MOST = { error: "must be at most 16 interceptors" };
export const Interceptors = orEmpty(list(Interceptor).max(16, AT_MOST));

/** An interceptor of managed settings. Its values are written out, because variables are those of whoever starts ptc. */
const ManagedInterceptor = mapping(() => ({
  ...common(),
  url: text(8_192)
    .regex(/^https?:\/\/[^$\s]+$/, {
      error: "must be the address itself, such as https://dlp.example.com/check",
    })
    .optional(),
  secret: text(1_024)
    .regex(/^whsec_[A-Za-z0-9+/=]+$/, { error: "must be `whsec_` and 24 to 64 bytes in base64" })
    .optional(),
  command: list(text(4_096))
    .min(1, { error: "must have at least a program" })
    .refine(([program]) => program?.startsWith("/") === true, {
      error: "must begin with the absolute path of a program",
    })
    .optional(),
  ...bounds(),
}));
export type ManagedInterceptor = z.infer<typeof ManagedInterceptor>;

export const managedInterceptors = () => orEmpty(list(ManagedInterceptor).max(16, AT_MOST));
