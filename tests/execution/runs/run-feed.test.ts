import { EventEmitter } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { installLastResort, withinBoundary } from "../../../base/faults.ts";
import { interceptQuestions } from "../../../broker/approvals/question-interceptors.ts";
import { reportRun } from "../../../execution/runs/report-run.ts";
import type { MissedEvents, RunEvent, RunView } from "../../../execution/runs/run-events.ts";
import { RunFeed } from "../../../execution/runs/run-feed.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { eventually } from "../../eventually.ts";

const context = { principal: "local", source: "run" } as const;
const started = (runId: string): RunEvent => ({ kind: "started", runId, context });
const call = (seq: number): RunEvent => ({ kind: "call-started", runId: "1", context, seq, tool: "t" });
const ended = (runId: string): RunEvent => ({
  kind: "ended",
  runId,
  context,
  outcome: "ok",
  durationMs: 1,
  toolCalls: 0,
});

test("a listener of one run receives that run alone, to its end", async () => {
  const feed = new RunFeed();
  const told: (RunEvent | MissedEvents)[] = [];
  feed.subscribe((event) => void told.push(event), "1");
  for (const event of [started("1"), started("2"), ended("2"), ended("1"), started("1")]) feed.publish(event);
  expect(told).toEqual([]);
  await eventually(() => expect(told).toHaveLength(2));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(told).toEqual([started("1"), ended("1")]);
});

test("a slow listener is told in order, and how many events it has missed", async () => {
  const feed = new RunFeed();
  const told: (RunEvent | MissedEvents)[] = [];
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  feed.subscribe(async (event) => {
    told.push(event);
    await held;
  });
  for (let seq = 1; seq <= 5_000; seq++) feed.publish(call(seq));
  await eventually(() => expect(told).toHaveLength(1));
  goOn();
  await eventually(() => expect(told.at(-1)?.kind).toBe("missed"));
  const kept = told.length - 1;
  expect(kept).toBeLessThan(2_000);
  expect(told.slice(0, -1)).toEqual(Array.from({ length: kept }, (_, i) => call(i + 1)));
  expect(told.at(-1)).toEqual({ kind: "missed", count: 5_000 - kept });
  feed.publish(ended("1"));
  await eventually(() => expect(told.at(-1)).toEqual(ended("1")));
});

test("a watcher learns which runs go on, and what they print meanwhile, which listeners do not", async () => {
  const feed = new RunFeed();
  const program = { fileName: "report.ts", language: "typescript", code: "report()\n" };
  const began = (runId: string): RunView => ({ kind: "began", runId, context, at: 7, program });
  const print = (text: string): RunView => ({ kind: "printed", runId: "1", context, stream: "out", text });
  const heard: unknown[] = [];
  feed.subscribe((event) => void heard.push(event));
  for (const event of [began("1"), started("1"), began("2"), ended("2")]) feed.publish(event);
  const seen: (RunEvent | RunView | MissedEvents)[] = [];
  const stop = feed.watch((event) => void seen.push(event));
  for (let i = 0; i < 5_000; i++) feed.publish(print("x".repeat(100)));
  feed.publish(print("end"));
  feed.publish(call(1));
  await eventually(() => expect(seen).toHaveLength(3));
  const [first, printed, last] = seen;
  expect([first, last]).toEqual([began("1"), call(1)]);
  // However much is printed, what waits is bounded, and has the end.
  expect(printed).toMatchObject({ kind: "printed", text: expect.stringMatching(/^x{60000,66000}end$/) });
  expect(heard).toEqual([started("1"), ended("2"), call(1)]);
  stop();
  feed.publish(ended("1"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(seen).toHaveLength(3);
});

test("a fault of a listener does not affect the run that it follows", async () => {
  const feed = new RunFeed();
  const ofRun: unknown[] = [];
  const strays: unknown[] = [];
  const source = new EventEmitter();
  onTestFinished(installLastResort(source, (fault) => void strays.push(fault)));
  // What nobody catches is emitted where it happens.
  feed.subscribe(() => void source.emit("uncaughtException", "planted"));
  const onFault = (fault: unknown) => ofRun.push(fault) > 0;
  withinBoundary(onFault, () => feed.publish(started("1")));
  await eventually(() => expect(strays).toEqual(["planted"]));
  expect(ofRun).toEqual([]);
});

test("a question that nobody answers is told to be withdrawn, and names are cut to size", async () => {
  const events: RunEvent[] = [];
  const run = { runId: "1", context };
  const report = reportRun((event) => void events.push(event), run, new Redactor(["t0p-s3cr3t-of-somebody"]));
  const approver = interceptQuestions({ ask: () => Promise.reject(new Error("gone")) }, [
    report.aroundQuestions,
  ]);
  const request = {
    runId: "1",
    tool: `t0p-s3cr3t-of-somebody\n${"x".repeat(10_000)}`,
    definitionDigest: "",
    arguments: {},
    argumentsDigest: "",
  };
  await expect(approver.ask(request, new AbortController().signal)).rejects.toThrow("gone");
  expect(events.map(({ kind }) => kind)).toEqual(["started", "question-asked", "question-answered"]);
  expect(events[2]).toMatchObject({ decision: "withdrawn" });
  const shown = JSON.stringify(events);
  expect(shown).not.toContain("t0p-s3cr3t-of-somebody");
  expect(shown.length).toBeLessThan(2_000);
});
