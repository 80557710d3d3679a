import java.io.File;
import java.io.IOException;
import org.graalvm.polyglot.Context;
import org.graalvm.polyglot.Source;
import org.graalvm.polyglot.Value;

/** Calls the plain Wasm module in GraalWasm. */
final class Wasm {
    private static final Value EXPORTS = instantiate();
    private static final Value MEMORY = EXPORTS.getMember("memory");
    private static final Value GENERATE = EXPORTS.getMember("generate");
    private static final int ROOM = EXPORTS.getMember("max_png_bytes").execute(200).asInt();
    private static final int TEXT_AT = EXPORTS.getMember("alloc").execute(512).asInt();
    private static final int PNG_AT = EXPORTS.getMember("alloc").execute(ROOM).asInt();

    public static void main(String[] args) throws IOException {
        Server.serve(args[0], Wasm::png);
    }

    private static Value instantiate() {
        try {
            var wasm = Source.newBuilder("wasm", new File(System.getenv("QR_WASM"))).build();
            return Context.create("wasm").eval(wasm).newInstance().getMember("exports");
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    /** One call at a time, because all calls share the instance's memory. */
    static synchronized byte[] png(byte[] utf8) throws IOException {
        for (int at = 0; at < utf8.length; at++) {
            MEMORY.writeBufferByte(TEXT_AT + at, utf8[at]);
        }
        int length = GENERATE.execute(TEXT_AT, utf8.length, 200, 4, 0, PNG_AT, ROOM).asInt();
        if (length < 0) {
            throw new IOException("the module failed with " + length);
        }
        byte[] png = new byte[length];
        MEMORY.readBuffer(PNG_AT, png, 0, length);
        return png;
    }
}
