/**
 * Reads OpenTelemetry protocol messages as a collector does, in both of their forms: protobuf, by the field numbers of
 * opentelemetry-proto 1.x, and JSON. Nothing of the SDK that wrote them is used.
 */

type Kind = "string" | "id" | "bool" | "double" | "int" | "fixed64" | "sfixed64" | "enum";
interface Field {
  name: string;
  /** How its bytes are read: as a value, or as a message. */
  as: Kind | (() => Message);
  isList?: boolean;
}
type Message = Readonly<Record<number, Field>>;

const of = (name: string, as: Field["as"]): Field => ({ name, as });
const listOf = (name: string, as: Field["as"]): Field => ({ name, as, isList: true });

const ANY_VALUE: Message = {
  1: of("stringValue", "string"),
  2: of("boolValue", "bool"),
  3: of("intValue", "int"),
  4: of("doubleValue", "double"),
  5: of("arrayValue", () => ARRAY),
};
const ARRAY: Message = { 1: listOf("values", () => ANY_VALUE) };
const KEY_VALUE: Message = { 1: of("key", "string"), 2: of("value", () => ANY_VALUE) };
const ATTRIBUTES = () => KEY_VALUE;
const RESOURCE: Message = { 1: listOf("attributes", ATTRIBUTES) };
const SCOPE: Message = { 1: of("name", "string"), 2: of("version", "string") };
const STATUS: Message = { 2: of("message", "string"), 3: of("code", "enum") };
const EVENT: Message = { 2: of("name", "string"), 3: listOf("attributes", ATTRIBUTES) };
const LINK: Message = { 1: of("traceId", "id"), 2: of("spanId", "id") };
const SPAN: Message = {
  1: of("traceId", "id"),
  2: of("spanId", "id"),
  3: of("traceState", "string"),
  4: of("parentSpanId", "id"),
  5: of("name", "string"),
  6: of("kind", "enum"),
  7: of("startTimeUnixNano", "fixed64"),
  8: of("endTimeUnixNano", "fixed64"),
  9: listOf("attributes", ATTRIBUTES),
  11: listOf("events", () => EVENT),
  13: listOf("links", () => LINK),
  15: of("status", () => STATUS),
};
const NUMBER_POINT: Message = {
  7: listOf("attributes", ATTRIBUTES),
  4: of("asDouble", "double"),
  6: of("asInt", "sfixed64"),
};
const HISTOGRAM_POINT: Message = {
  9: listOf("attributes", ATTRIBUTES),
  4: of("count", "fixed64"),
  5: of("sum", "double"),
};
const NUMBERS: Message = { 1: listOf("dataPoints", () => NUMBER_POINT) };
const HISTOGRAM: Message = { 1: listOf("dataPoints", () => HISTOGRAM_POINT) };
const METRIC: Message = {
  1: of("name", "string"),
  3: of("unit", "string"),
  5: of("gauge", () => NUMBERS),
  7: of("sum", () => NUMBERS),
  9: of("histogram", () => HISTOGRAM),
};
const SCOPE_SPANS: Message = { 1: of("scope", () => SCOPE), 2: listOf("spans", () => SPAN) };
const SCOPE_METRICS: Message = { 1: of("scope", () => SCOPE), 2: listOf("metrics", () => METRIC) };

const TRACES: Message = {
  1: listOf("resourceSpans", () => ({
    1: of("resource", () => RESOURCE),
    2: listOf("scopeSpans", () => SCOPE_SPANS),
  })),
};
const METRICS: Message = {
  1: listOf("resourceMetrics", () => ({
    1: of("resource", () => RESOURCE),
    2: listOf("scopeMetrics", () => SCOPE_METRICS),
  })),
};

type Read = Record<string, unknown>;
type AttributeValues = Record<string, unknown>;

export interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  attributes: AttributeValues;
  /** Places in traces, other than its parent. */
  links: { traceId: string; spanId: string }[];
  /** 2 is an error. */
  status: number;
  resource: AttributeValues;
}

export interface SentPoint {
  name: string;
  unit: string;
  attributes: AttributeValues;
  /** Of a histogram, how many values it has. */
  value: number;
}

/** The spans of a request to `/v1/traces`. */
export function readSpans(body: Buffer, isJson: boolean): SentSpan[] {
  return list(parse(body, isJson, TRACES).resourceSpans).flatMap(({ resource, scopeSpans }) =>
    list(scopeSpans).flatMap(({ spans }) =>
      list(spans).map((span) => ({
        traceId: String(span.traceId),
        spanId: String(span.spanId),
        parentSpanId: String(span.parentSpanId ?? ""),
        name: String(span.name),
        kind: Number(span.kind),
        attributes: attributesOf(span),
        links: list(span.links).map(({ traceId, spanId }) => ({
          traceId: String(traceId),
          spanId: String(spanId),
        })),
        status: Number((span.status as Read | undefined)?.code ?? 0),
        resource: attributesOf(resource as Read),
      })),
    ),
  );
}

/** The points of a request to `/v1/metrics`. */
export function readPoints(body: Buffer, isJson: boolean): SentPoint[] {
  return list(parse(body, isJson, METRICS).resourceMetrics).flatMap(({ scopeMetrics }) =>
    list(scopeMetrics).flatMap(({ metrics }) =>
      list(metrics).flatMap(({ name, unit, ...data }) => {
        const { dataPoints } = (data.sum ?? data.gauge ?? data.histogram) as Read;
        return list(dataPoints).map((point) => ({
          name: String(name),
          unit: String(unit),
          attributes: attributesOf(point),
          value: Number(point.asInt ?? point.asDouble ?? point.count ?? 0),
        }));
      }),
    ),
  );
}

function parse(body: Buffer, isJson: boolean, message: Message): Read {
  return isJson ? (JSON.parse(body.toString("utf8")) as Read) : readMessage(body, message);
}

function list(value: unknown): Read[] {
  return (value ?? []) as Read[];
}

function attributesOf({ attributes }: Read): AttributeValues {
  return Object.fromEntries(
    list(attributes).map(({ key, value }) => [String(key), readValue(value as Read)]),
  );
}

function readValue(value: Read): unknown {
  const [kind, read] = Object.entries(value)[0] ?? [];
  if (kind === "arrayValue") return list((read as Read).values).map(readValue);
  return kind === "intValue" ? Number(read) : read;
}

/** Protocol Buffers, "Encoding". Fields that the table does not have are skipped. */
function readMessage(bytes: Buffer, message: Message): Read {
  const read: Read = {};
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = message[tag >>> 3];
    let value: unknown;
    switch (tag & 7) {
      case 0:
        value = field?.as === "bool" ? varint() === 1n : Number(BigInt.asIntN(64, varint()));
        break;
      case 1:
        value = field?.as === "double" ? bytes.readDoubleLE(at) : Number(bytes.readBigInt64LE(at));
        at += 8;
        break;
      case 2: {
        const length = Number(varint());
        if (at + length > bytes.length) throw new Error("a field is longer than its message");
        value = readBytes(bytes.subarray(at, at + length), field);
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        throw new Error(`no wire type: ${tag & 7}`);
    }
    if (field === undefined) continue;
    if (field.isList === true) read[field.name] = [...list(read[field.name]), value];
    else read[field.name] = value;
  }
  return read;
}

function readBytes(bytes: Buffer, field: Field | undefined): unknown {
  if (field === undefined) return undefined;
  if (typeof field.as === "function") return readMessage(bytes, field.as());
  return field.as === "id" ? bytes.toString("hex") : bytes.toString("utf8");
}
