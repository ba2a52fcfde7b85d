import { createHash } from "node:crypto";
import type { RunRecord } from "../../../archive/run-record.ts";
import { canonicalJson, digestOf } from "../../../protocol/canonical-json.ts";
import { sampleRun } from "../../archive/sample-runs.ts";
import type { Random } from "../random.ts";
import { hostileJson } from "./hostile-json.ts";
import { hostileText } from "./hostile-text.ts";
import { LISTS } from "./words.ts";

const NUMBERS = LISTS.times;

/** The lines of an export with something else in a few places of its records and values. Digests are left to `sealLines`. */
export function hostileExport(random: Random): string {
  const lines = random.list(random.between(1, 3), () => oneRun(random)).flat();
  if (random.chance(0.1)) lines.splice(random.below(lines.length), 1);
  if (random.chance(0.1)) lines.push(random.pick(lines));
  const header = random.chance(0.97)
    ? '{"format":"ptc-archive","version":1}'
    : hostileJson(random, { levels: 2 });
  return [header, ...lines, '{"runs":0,"blobs":0,"digest":"sha256:"}', ""].join("\n");
}

function oneRun(random: Random): string[] {
  const hex = (length: number) => random.bytes(length / 2).toString("hex");
  const runId = [8, 4, 4, 4, 12].map(hex).join("-");
  const calls = random.below(4);
  const sample = sampleRun({
    runId,
    calls,
    startedAt: random.pick([0, 1.9e12, 2.1e12, 8.64e15]),
    code: `run(${random.below(5)})`,
  });
  const { facts, code, dataJson, consoleText, environmentJson, envelope, modules } = sample.run;
  facts.trace_id = hex(32);
  const blobs = new Map<string, string>();
  const put = (json: string) => {
    const digest = sha256(json);
    blobs.set(digest, json);
    return digest;
  };
  const record: RunRecord = {
    format: 1,
    ...facts,
    code: put(JSON.stringify(code)),
    data: put(dataJson),
    console: put(JSON.stringify(consoleText)),
    envelope: put(JSON.stringify(envelope)),
    environment: put(environmentJson),
    modules: modules.map(({ module, text }) => ({ module, digest: put(JSON.stringify(text)) })),
    calls: sample.calls.map((call) => ({
      ...call.facts,
      arguments: put(canonicalJson(JSON.parse(call.argumentsJson))),
      outcome: put(call.outcomeJson),
    })),
  };
  const texts = [...blobs].map(([blob, json]) =>
    JSON.stringify({ blob, json: random.chance(0.1) ? changed(random, json) : json }),
  );
  let line = JSON.stringify({ run: digestOf(record), record });
  if (random.chance(0.7)) line = changed(random, line);
  return [...texts, line];
}

/** A JSON text with another number, text or value somewhere. */
function changed(random: Random, json: string): string {
  const numbers = [...json.matchAll(/(?<=[:[,])-?\d[\d.e+]*/g)];
  const strings = [...json.matchAll(/(?<=:)"(?:[^"\\]|\\.)*"/g)].filter(
    ([text]) => !text.includes("sha256:"),
  );
  let text = json;
  for (let count = random.between(1, 3); count > 0; count--) {
    const found = random.pick(random.chance(0.7) ? numbers : strings);
    if (found === undefined || text.slice(found.index, found.index + found[0].length) !== found[0]) continue;
    const put = /^"/.test(found[0]) ? JSON.stringify(hostileText(random)) : random.pick(NUMBERS);
    text =
      text.slice(0, found.index) +
      (random.chance(0.95) ? put : hostileJson(random)) +
      text.slice(found.index + found[0].length);
  }
  return text;
}

/** The same lines with digests and counts that fit, as far as they are lines of an export: what an enemy would do. */
export function sealLines(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  const renamed = new Map<string, string>();
  const body: string[] = [];
  let [runs, blobs] = [0, 0];
  for (const [at, line] of lines.entries()) {
    const kind = /^\{"(blob|run|runs)":"(sha256:[0-9a-f]{64})",/.exec(line);
    if (kind?.[1] === "blob") {
      const json = memberOf(line, "json");
      const digest = typeof json === "string" ? sha256(json) : "";
      if (renamed.has(kind[2] ?? "")) continue;
      renamed.set(kind[2] ?? "", digest);
      body.push(line.replace(kind[2] ?? "", digest));
      blobs++;
    } else if (kind?.[1] === "run") {
      const renewed = line.replaceAll(/sha256:[0-9a-f]{64}/g, (digest) => renamed.get(digest) ?? digest);
      body.push(renewed.replace(/sha256:[0-9a-f]{64}/, digestIfAny(memberOf(renewed, "record"))));
      runs++;
    } else if (at < lines.length - 1 || !line.startsWith('{"runs":')) body.push(line);
  }
  const all = body.map((line) => `${line}\n`).join("");
  return `${all}${JSON.stringify({ runs, blobs, digest: sha256(all) })}\n`;
}

function memberOf(line: string, name: string): unknown {
  try {
    return (JSON.parse(line) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** A value that has no digest is sent under that of another. */
function digestIfAny(value: unknown): string {
  try {
    return digestOf(value);
  } catch {
    return sha256("");
  }
}

function sha256(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}
