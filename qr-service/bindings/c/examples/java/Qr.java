import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Writes a text's QR code to a file: java -cp jna.jar Qr.java TEXT [FILE] */
public final class Qr {
    /** qr.h for JNA. The declarations are for 64-bit machines, where size_t is a long. */
    public interface LibQr extends Library {
        LibQr INSTANCE = Native.load("qr", LibQr.class);
        int QR_MAX_SERVICE_PNG = 8192;
        int QR_STATUS_OK = 0;

        int qr_png(
                ByteBuffer text,
                long textLen,
                Pointer options,
                byte[] out,
                long outCapacity,
                LongByReference outLen);

        String qr_error_message(int status);
    }

    /** Draws a text's QR code: 200 x 200 pixels, level L. */
    static byte[] png(String text) throws CharacterCodingException {
        // Not getBytes, which replaces a lone surrogate with a question mark.
        ByteBuffer utf8 = UTF_8.newEncoder().encode(CharBuffer.wrap(text));
        byte[] png = new byte[LibQr.QR_MAX_SERVICE_PNG];
        LongByReference length = new LongByReference();
        int status =
                LibQr.INSTANCE.qr_png(utf8, utf8.remaining(), null, png, png.length, length);
        if (status != LibQr.QR_STATUS_OK) {
            throw new IllegalArgumentException(LibQr.INSTANCE.qr_error_message(status));
        }
        return Arrays.copyOf(png, (int) length.getValue());
    }

    public static void main(String[] args) {
        if (args.length < 1 || args.length > 2) {
            System.err.println("usage: java -cp jna.jar Qr.java TEXT [FILE]");
            System.exit(2);
        }
        try {
            Files.write(Path.of(args.length > 1 ? args[1] : "code.png"), png(args[0]));
        } catch (IllegalArgumentException error) {
            System.err.println("qr: " + error.getMessage());
            System.exit(1);
        } catch (IOException error) {
            System.err.println("qr: " + error);
            System.exit(1);
        }
    }
}
