import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/** Calls the C library through the foreign function interface of Java 22 and newer. */
final class Native {
    private static final int MAX_PNG = 8192;

    static {
        System.loadLibrary("qr");
    }

    // Critical: the call takes only microseconds, so Java may pass arrays without copying them out of the heap.
    private static final MethodHandle QR_PNG = Linker.nativeLinker().downcallHandle(
            SymbolLookup.loaderLookup().find("qr_png").orElseThrow(),
            FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS),
            Linker.Option.critical(true));

    public static void main(String[] args) throws IOException {
        Server.serve(args[0], Native::png);
    }

    static byte[] png(byte[] utf8) throws IOException {
        byte[] png = new byte[MAX_PNG];
        long[] length = new long[1];
        int status;
        try {
            status = (int) QR_PNG.invokeExact(MemorySegment.ofArray(utf8), (long) utf8.length, MemorySegment.NULL,
                    MemorySegment.ofArray(png), (long) MAX_PNG, MemorySegment.ofArray(length));
        } catch (Throwable impossible) {
            throw new AssertionError(impossible);
        }
        if (status != 0) {
            throw new IOException("qr_png failed with " + status);
        }
        return Arrays.copyOf(png, (int) length[0]);
    }
}
