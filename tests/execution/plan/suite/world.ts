import * as z from "zod";
import { type FunctionTool, tool } from "../../../../library/ptc.ts";

const READS = { annotations: { readOnlyHint: true } };
const CHANGES = { annotations: { destructiveHint: true } };
const OK = z.object({ ok: z.boolean() });
const MAIL = z.object({ id: z.string(), subject: z.string(), text: z.string() });
const PAGES: Record<string, { items: { id: string }[]; next?: string }> = {
  "": { items: [{ id: "i-101" }, { id: "i-102" }], next: "mark-2" },
  "mark-2": { items: [{ id: "i-103" }], next: "mark-3" },
  "mark-3": { items: [{ id: "i-104" }] },
};

/** Servers in memory for the suite of programs: mails, issues, files and a shop. `made` has every change that was made. */
export function world() {
  const made: { tool: string; arguments: unknown }[] = [];
  const mails: z.infer<typeof MAIL>[] = [
    { id: "m-2001", subject: "Your code", text: "Your code is 104466." },
    { id: "m-2002", subject: "Bill 77120", text: "Please pay 250.75 for bill B-77120." },
  ];
  const issues = new Map<number, { title: string; state: string }>();
  const files: { id: string; name: string }[] = [{ id: "f-3301", name: "old.txt" }];
  const cart: { item: string; count: number }[] = [];
  let codes = 582_913;
  let values = 1_000;
  const failed = new Map<string, number>();
  const note = (name: string, args: unknown) => made.push({ tool: name, arguments: args });
  const issue = (number: number) => issues.get(number) ?? { title: "none", state: "none" };
  const tools: Record<string, FunctionTool> = {
    people: tool({
      description: "Lists people",
      output: z.object({ people: z.array(z.string()) }),
      ...READS,
      execute: () => ({ people: ["ann", "bob", "cem"] }),
    }),
    address: tool({
      description: "Says where somebody is",
      input: z.object({ name: z.string() }),
      output: z.object({ mail: z.string() }),
      ...READS,
      execute: ({ name }) => ({ mail: `${name}@example.com` }),
    }),
    page: tool({
      description: "Lists items, page by page",
      input: z.object({ mark: z.string().optional() }),
      output: z.object({ items: z.array(z.object({ id: z.string() })), next: z.string().optional() }),
      ...READS,
      execute: ({ mark = "" }) => PAGES[mark] ?? { items: [] },
    }),
    status: tool({
      description: "Shows an issue",
      input: z.object({ number: z.number().int() }),
      output: z.object({ title: z.string(), state: z.string(), reference: z.string() }),
      ...READS,
      execute: ({ number }) => ({ ...issue(number), reference: `REF-${4_000 + number}` }),
    }),
    search: tool({
      description: "Searches mails, the newest first",
      input: z.object({ query: z.string() }),
      output: z.object({ mails: z.array(MAIL) }),
      ...READS,
      execute: ({ query }) => ({ mails: mails.filter(({ subject }) => subject.includes(query)) }),
    }),
    files: tool({
      description: "Lists files, the newest first",
      output: z.object({ files: z.array(z.object({ id: z.string(), name: z.string() })) }),
      ...READS,
      execute: () => ({ files: [...files] }),
    }),
    cart: tool({
      description: "Shows the cart",
      output: z.object({ id: z.string(), lines: z.number(), total: z.number() }),
      ...READS,
      execute: () => ({ id: "cart-81234", lines: cart.length, total: 129.95 + 100 * cart.length }),
    }),
    order: tool({
      description: "Shows an order",
      input: z.object({ number: z.number().int() }),
      output: z.object({ bill: z.string(), total: z.number() }),
      ...READS,
      execute: ({ number }) => ({ bill: `B-${number}`, total: 229.95 }),
    }),
    unstable: tool({
      description: "Answers otherwise each time",
      output: z.object({ value: z.string() }),
      ...READS,
      execute: () => ({ value: `v-${++values}` }),
    }),
    send: tool({
      description: "Sends a mail",
      input: z.object({ to: z.string(), text: z.string() }),
      output: z.object({ id: z.string() }),
      ...CHANGES,
      execute: (args) => {
        note("send", args);
        return { id: `m-${made.length}` };
      },
    }),
    create: tool({
      description: "Creates an issue",
      input: z.object({ title: z.string() }),
      output: z.object({ number: z.number().int(), ok: z.boolean(), url: z.string() }),
      ...CHANGES,
      execute: ({ title }) => {
        note("create", { title });
        const number = 42 + issues.size;
        issues.set(number, { title, state: "open" });
        return { number, ok: title !== "bad", url: `https://issues.example.com/${number}` };
      },
    }),
    comment: tool({
      description: "Comments on an issue",
      input: z.object({ number: z.number().int(), text: z.string() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("comment", args);
        return { ok: true };
      },
    }),
    close: tool({
      description: "Closes an issue",
      input: z.object({ number: z.number().int() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("close", args);
        return { ok: true };
      },
    }),
    flaky: tool({
      description: "Fails at first, and what is hard twice",
      input: z.object({ text: z.string() }),
      output: OK,
      ...CHANGES,
      execute: ({ text }) => {
        note("flaky", { text });
        const times = failed.get(text) ?? 0;
        if (times >= (text === "hard" ? 2 : 1)) return { ok: true };
        failed.set(text, times + 1);
        throw new Error("not now");
      },
    }),
    log: tool({
      description: "Notes something",
      input: z.object({ text: z.string() }),
      output: OK,
      annotations: { readOnlyHint: false, destructiveHint: false },
      execute: (args) => {
        note("log", args);
        return { ok: true };
      },
    }),
    request_code: tool({
      description: "Has a code sent by mail",
      input: z.object({ to: z.string() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("request_code", args);
        const link = `https://shop.example.com/confirm/k${codes}`;
        mails.unshift(
          { id: `m-${3_000 + mails.length}`, subject: "Your code", text: `Your code is ${codes}.` },
          { id: `m-${4_000 + mails.length}`, subject: "Confirm", text: `Confirm at ${link} please.` },
        );
        codes += 111;
        return { ok: true };
      },
    }),
    enter: tool({
      description: "Enters a code",
      input: z.object({ code: z.string() }),
      output: z.object({ token: z.string() }),
      ...CHANGES,
      execute: (args) => {
        note("enter", args);
        return { token: "tok-9f31" };
      },
    }),
    visit: tool({
      description: "Visits a link",
      input: z.object({ url: z.string() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("visit", args);
        return { ok: true };
      },
    }),
    upload: tool({
      description: "Uploads a file",
      input: z.object({ name: z.string() }),
      output: OK,
      ...CHANGES,
      execute: ({ name }) => {
        note("upload", { name });
        files.unshift({ id: `f-${7_700 + files.length}`, name });
        return { ok: true };
      },
    }),
    share: tool({
      description: "Shares a file",
      input: z.object({ id: z.string(), with: z.string() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("share", args);
        return { ok: true };
      },
    }),
    add: tool({
      description: "Puts something into the cart",
      input: z.object({ item: z.string(), count: z.number().int() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("add", args);
        cart.push(args);
        return { ok: true };
      },
    }),
    checkout: tool({
      description: "Orders what is in the cart",
      input: z.object({ cart: z.string() }),
      output: z.object({ order: z.number().int() }),
      ...CHANGES,
      execute: (args) => {
        note("checkout", args);
        return { order: 70_001 };
      },
    }),
    pay: tool({
      description: "Pays a bill",
      input: z.object({ bill: z.string(), amount: z.number() }),
      output: OK,
      ...CHANGES,
      execute: (args) => {
        note("pay", args);
        return { ok: true };
      },
    }),
  };
  return { tools, made };
}
