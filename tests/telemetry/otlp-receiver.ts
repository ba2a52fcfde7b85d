import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { readPoints, readSpans, type SentPoint, type SentSpan } from "./otlp-wire.ts";

/** A collector on the loopback, with all that it was sent, decoded. */
export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  readonly spans: SentSpan[];
  readonly points: SentPoint[];
  readonly requests: { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  close(): Promise<void>;
}

/** @param behaviour `hangs` takes requests and never answers; a number is the HTTP status that it refuses them with. */
export async function startOtlpReceiver(
  behaviour: "takes" | "hangs" | number = "takes",
): Promise<OtlpReceiver> {
  const spans: SentSpan[] = [];
  const points: SentPoint[] = [];
  const requests: OtlpReceiver["requests"] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = Buffer.concat(chunks);
    const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    const isJson = request.headers["content-type"]?.startsWith("application/json") === true;
    requests.push({ path: request.url ?? "", headers: request.headers, body });
    if (behaviour === "hangs") return;
    if (typeof behaviour === "number") {
      response.writeHead(behaviour).end();
      return;
    }
    if (request.url === "/v1/traces") spans.push(...readSpans(body, isJson));
    else if (request.url === "/v1/metrics") points.push(...readPoints(body, isJson));
    else response.statusCode = 404;
    response.setHeader("content-type", isJson ? "application/json" : "application/x-protobuf");
    response.end(isJson ? "{}" : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    points,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
