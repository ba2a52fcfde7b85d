import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { orAborted } from "../../base/waiting.ts";
import { listServers } from "../../generation/list-servers.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { parse } from "../configuration/parse-text.ts";

it("lists any number of servers without a listener for each on the signal that they share", async () => {
  const { servers } = parse(
    JSON.stringify({ servers: Array.from({ length: 12 }, (_, i) => ({ name: `s${i}`, command: "x" })) }),
  );
  const stop = new AbortController();
  const stopped = () => new UpstreamError("cancelled", "stopped");
  const hanging = {
    list: (signal?: AbortSignal) => orAborted(new Promise<never>(() => {}), signal, stopped),
    onToolsChanged: () => () => {},
  };
  const listed = listServers(servers, { get: () => hanging }, stop.signal);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  stop.abort();
  expect((await listed).failures).toHaveLength(12);
});
