import * as z from "zod";
import { tool } from "../../../library/ptc.ts";

/** A desk in memory: mails are sent, issues created, closed and commented on. */
export function desk() {
  const made: [string, unknown][] = [];
  let issues = 41;
  const changing = { annotations: { destructiveHint: true } };
  const reading = { annotations: { readOnlyHint: true } };
  const note = (name: string, args: unknown) => made.push([name, args]);
  const tools = {
    people: tool({
      description: "Lists people",
      output: z.object({ people: z.array(z.string()) }),
      ...reading,
      execute: () => {
        note("people", {});
        return { people: ["ann", "bob", "cem"] };
      },
    }),
    address: tool({
      description: "Says where somebody is",
      input: z.object({ name: z.string() }),
      output: z.object({ mail: z.string() }),
      ...reading,
      execute: ({ name }) => {
        note("address", name);
        return { mail: `${name}@example.com` };
      },
    }),
    send: tool({
      description: "Sends a mail",
      input: z.object({ to: z.string(), text: z.string() }),
      output: z.object({ id: z.string() }),
      ...changing,
      execute: (args) => {
        note("send", args);
        return { id: `m-${made.length}` };
      },
    }),
    create: tool({
      description: "Creates an issue",
      input: z.object({ title: z.string() }),
      output: z.object({ number: z.number().int(), ok: z.boolean() }),
      ...changing,
      execute: (args) => {
        note("create", args);
        return { number: ++issues, ok: true };
      },
    }),
    comment: tool({
      description: "Comments on an issue",
      input: z.object({ number: z.number().int(), text: z.string() }),
      output: z.object({ ok: z.boolean() }),
      ...changing,
      execute: (args) => {
        note("comment", args);
        return { ok: true };
      },
    }),
    log: tool({
      description: "Notes something",
      input: z.object({ text: z.string() }),
      output: z.object({ ok: z.boolean() }),
      annotations: { readOnlyHint: false, destructiveHint: false },
      execute: (args) => {
        note("log", args);
        return { ok: true };
      },
    }),
  };
  return { tools, made };
}
