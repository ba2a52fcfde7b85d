import { setTimeout as delay } from "node:timers/promises";
import { isObject } from "../../base/json.ts";
import type { UpstreamError } from "../upstream-error.ts";
import { MAX_ROUNDS, parseWantedInput, type WantedInput } from "./input-requests.ts";
import type { UpstreamFaults } from "./upstream-faults.ts";

/**
 * Tasks: a server may answer a call with a handle, and do the work while ptc polls its status. Newer servers decide this themselves
 * (extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28), older ones do so if the call requests it (MCP 2025-11-25, "Tasks").
 */

/** The name of the extension, which clients declare. */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The interval for polling a task: the server's choice, within bounds. */
const POLL_MS = { least: 100, default: 1_000, most: 30_000 };
const MAX_ID_CHARS = 1_024;

type Params = Readonly<Record<string, unknown>>;

/** A task, as the server describes it. */
interface Task {
  taskId: string;
  status: string;
  pollMs: number;
  /** Differs when the server reports something new. */
  news: string;
}

/** The call for which a task was created. */
export interface TaskCall {
  readonly signal: AbortSignal;
  /** Sends a request within the time of the call. */
  send(method: string, params: Params): Promise<unknown>;
  /** Gets answers to the server's questions from a person or the configuration, by key. @throws UpstreamError */
  answer(requests: WantedInput["requests"]): Promise<Params>;
  /** The server has reported something new. */
  progress(): void;
}

/** Whether a tool can only be called as a task (MCP 2025-11-25, "Tool-Level Negotiation"). */
export function needsTask(definition: unknown, capabilities: unknown): boolean {
  const execution = isObject(definition) ? definition.execution : undefined;
  if (!isObject(execution) || execution.taskSupport !== "required") return false;
  const tasks = isObject(capabilities) ? capabilities.tasks : undefined;
  const requests = isObject(tasks) ? tasks.requests : undefined;
  return isObject(requests) && isObject(requests.tools) && requests.tools.call !== undefined;
}

/** The task in a call's result, flat or, in the older revision, as its only member; `undefined` for an ordinary result. */
export function taskIn(result: Params, wasAskedFor: boolean): unknown {
  if (result.resultType === "task") return result;
  return wasAskedFor && isObject(result.task) ? result.task : undefined;
}

/**
 * Polls a task until it has ended, and resolves with the result of the call. Cancels the task if the call ends or fails first.
 *
 * @param isLegacy whether the server uses tasks of MCP 2025-11-25, whose results are requested separately.
 * @throws UpstreamError, and whatever `send` throws.
 */
export async function seeTaskThrough(
  created: unknown,
  call: TaskCall,
  isLegacy: boolean,
  faults: UpstreamFaults,
): Promise<unknown> {
  const odd = (what: string): UpstreamError => faults.build("protocol_error", what);
  let task = parseTask(created);
  if (task === undefined) throw odd("answered a call with a task that is none of the protocol's");
  const { taskId } = task;
  const answered = new Set<string>();
  let hasEnded = false;
  try {
    for (let answer: unknown = created, rounds = 0; ; ) {
      switch (task.status) {
        case "completed":
        case "failed":
          // The answer that creates a task need not contain its result.
          if (!isLegacy && answer === created) break;
          hasEnded = true;
          return isLegacy ? await call.send("tasks/result", { taskId }) : resultOf(answer, faults);
        case "cancelled":
          hasEnded = true;
          throw faults.build("remote_error", "has cancelled the task that it made of the call");
        case "input_required": {
          // An older server sends its questions as requests once the result is requested.
          if (isLegacy) {
            const result = await call.send("tasks/result", { taskId });
            hasEnded = true;
            return result;
          }
          if (answer === created) break;
          const wanted = isObject(answer) ? parseWantedInput(answer) : undefined;
          if (wanted === undefined) throw odd("asked for input in a form that the protocol does not have");
          const open = wanted.requests.filter(({ key }) => !answered.has(key));
          if (open.length === 0) break;
          if (++rounds > MAX_ROUNDS) throw odd(`asked for input more than ${MAX_ROUNDS} times in one call`);
          const inputResponses = await call.answer(open);
          for (const { key } of open) answered.add(key);
          await call.send("tasks/update", { taskId, inputResponses });
          break;
        }
        case "working":
          break;
        default:
          throw odd("speaks of its task in a way that is none of the protocol's");
      }
      const isSettled = answer === created && task.status !== "working";
      if (!isSettled) await delay(task.pollMs, undefined, { signal: call.signal });
      answer = await call.send("tasks/get", { taskId });
      const next = parseTask(answer);
      if (next?.taskId !== taskId) throw odd("answered tasks/get with something that is not that task");
      if (next.news !== task.news) call.progress();
      task = next;
    }
  } finally {
    // The answer is not awaited, and servers need not support this.
    if (!hasEnded) call.send("tasks/cancel", { taskId }).catch(() => {});
  }
}

function parseTask(value: unknown): Task | undefined {
  if (!isObject(value)) return undefined;
  const { taskId, status, statusMessage, lastUpdatedAt } = value;
  if (typeof taskId !== "string" || taskId.length > MAX_ID_CHARS || typeof status !== "string")
    return undefined;
  const wished = value.pollIntervalMs ?? value.pollInterval;
  const pollMs = typeof wished === "number" && wished >= 0 ? wished : POLL_MS.default;
  return {
    taskId,
    status,
    pollMs: Math.min(Math.max(pollMs, POLL_MS.least), POLL_MS.most),
    news: JSON.stringify([status, statusMessage, lastUpdatedAt]),
  };
}

/** The result of a newer server's ended task. @throws UpstreamError if it failed */
function resultOf(task: unknown, faults: UpstreamFaults): unknown {
  const { status, result, error } = isObject(task) ? task : {};
  if (status === "completed") return result;
  const { code, message } = isObject(error) ? error : {};
  const reason = typeof message === "string" ? message.slice(0, 300) : "its task has failed";
  throw faults.build(
    "remote_error",
    `rejected the request: ${reason}${typeof code === "number" ? ` (${code})` : ""}`,
  );
}
