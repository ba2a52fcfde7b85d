/** Images: what a tool draws goes to the client as an image, and its size to the model. */
import * as everything from "./servers/everything/index.js";

const blocks = await everything.getTinyImage({});
const image = blocks.find((block: { type: string }) => block.type === "image");
const bytes = bytesOf(image);
emit(bytes, { mimeType: image.mimeType, name: "logo.png" });
globalThis.result = { mimeType: image.mimeType, bytes: bytes.length };
