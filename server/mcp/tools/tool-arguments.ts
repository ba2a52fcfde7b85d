import * as z from "zod/mini";
import { isObject } from "../../../base/json/is-object.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { MAX_CODE_BYTES } from "../../../protocol/limits.ts";

const MAX_QUERY_CHARS = 10_000;
const MAX_NAME_CHARS = 1_000;
const MAX_SHOWN_CHARS = 80;
const MAX_TIMEOUT_SECONDS = 86_400;

function text(what: string, maxChars: number) {
  return z.string(`${what} must be a text`).check(
    z.refine((value) => value.trim() !== "", { error: `${what} is empty` }),
    z.maxLength(maxChars, `${what} is longer than ${maxChars} characters`),
  );
}

const server = z.optional(text("server", MAX_NAME_CHARS));
const language = z.optional(text("language", MAX_SHOWN_CHARS));

export const ExecuteProgramArguments = z.object({
  code: z.string("code must be a text: the program").check(
    z.refine((code) => code.trim() !== "", { error: "code is empty: give a program" }),
    z.refine((code) => Buffer.byteLength(code) <= MAX_CODE_BYTES, {
      error: `code is larger than ${MAX_CODE_BYTES} bytes; pass what it works on as data`,
    }),
  ),
  data: z.optional(z.record(z.string(), z.unknown(), "data must be an object")),
  timeout_seconds: z.optional(
    z
      .number("timeout_seconds must be a number")
      .check(
        z.positive("timeout_seconds must be more than 0"),
        z.lte(MAX_TIMEOUT_SECONDS, `timeout_seconds must be at most ${MAX_TIMEOUT_SECONDS}`),
      ),
  ),
  typecheck: z.optional(z.enum(["error", "warn", "off"], "typecheck must be error, warn or off")),
  language,
  session: z.optional(text("session", MAX_NAME_CHARS)),
});
export type ExecuteProgramArguments = z.infer<typeof ExecuteProgramArguments>;

const TICKET = /^\s*ticket ([0-9a-f]{16})\s*$/;

/** A program that is none, in any language: it stands for the suspended program with this ticket. Costs no definition. */
export function renderTicket(ticket: string): string {
  return `ticket ${ticket}`;
}

/** The ticket that a call brings in the place of a program. */
export function ticketIn({ code }: Pick<ExecuteProgramArguments, "code">): string | undefined {
  return TICKET.exec(code)?.[1];
}

export const SearchToolsArguments = z.object({
  query: text("query", MAX_QUERY_CHARS),
  server,
  detail: z._default(
    z.enum(["name", "description", "signature"], "detail must be name, description or signature"),
    "description",
  ),
  limit: z._default(
    z
      .int("limit must be a whole number")
      .check(z.gte(1, "limit must be at least 1"), z.lte(100, "limit must be at most 100")),
    10,
  ),
  language,
});
export type SearchToolsArguments = z.infer<typeof SearchToolsArguments>;

export const InspectToolArguments = z.object({
  tool_name: text("tool_name", MAX_NAME_CHARS),
  format: z._default(z.enum(["schema", "signature"], "format must be schema or signature"), "schema"),
  language,
});
export type InspectToolArguments = z.infer<typeof InspectToolArguments>;

export const ListCallableToolsArguments = z.object({ server });
export type ListCallableToolsArguments = z.infer<typeof ListCallableToolsArguments>;

export const ReadOutputArguments = z.object({
  run: text("run", MAX_NAME_CHARS),
  offset: z._default(z.int("offset must be a whole number").check(z.gte(0, "offset must be at least 0")), 0),
  grep: z.optional(text("grep", MAX_NAME_CHARS)),
});
export type ReadOutputArguments = z.infer<typeof ReadOutputArguments>;

export type ParsedArguments<T> = { ok: true; value: T } | { ok: false; message: string };

/** Parses the arguments of a call. The error is one line; unknown arguments are errors too. */
export function parseArguments<T>(
  schema: z.ZodMiniObject & z.ZodMiniType<T>,
  value: unknown,
): ParsedArguments<T> {
  const known = Object.keys(schema.shape);
  const given = isObject(value) ? value : undefined;
  if (value !== undefined && given === undefined)
    return { ok: false, message: "arguments must be an object" };
  const unknown = Object.keys(given ?? {}).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    const message = `there is no argument '${oneLine(unknown, MAX_SHOWN_CHARS)}'; there are ${known.join(", ")}`;
    return { ok: false, message };
  }
  const parsed = schema.safeParse(given ?? {});
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, message: parsed.error.issues[0]?.message ?? "arguments are wrong" };
}
