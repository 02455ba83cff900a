// SPDX-License-Identifier: Apache-2.0
// Counts words of its arguments in a store, over libofframp by JNA: javac -cp jna.jar count.java &&
// java -cp jna.jar:. -Djna.library.path=LIB count ADDRESS word...
import com.sun.jna.*;
import java.nio.charset.StandardCharsets;

class count {
    static final int INCR = 3, ERROR_BYTES = 256;

    @Structure.FieldOrder({"tag", "operation", "reserved", "key", "value", "expected", "keyLength", "valueLength", "expectedLength", "number"})
    public static class Request extends Structure {
        public long tag;
        public int operation, reserved;
        public String key, value, expected;
        public long keyLength, valueLength, expectedLength, number;
    }

    @Structure.FieldOrder({"tag", "status", "reserved", "number", "value", "length"})
    public static class Answer extends Structure {
        public long tag;
        public int status, reserved;
        public long number;
        public Pointer value;
        public long length;
    }

    public interface Offramp extends Library {
        Pointer offramp_connect(String address, Pointer settings, byte[] error);
        int offramp_submit(Pointer client, Request[] requests, long count, byte[] error);
        int offramp_wait(Pointer client, int timeoutMs, byte[] error);
        long offramp_poll(Pointer client, Answer[] answers, long room, byte[] error);
        long offramp_pending(Pointer client);
        void offramp_close(Pointer client);
    }

    public static void main(String[] words) {
        Offramp offramp = Native.load("offramp", Offramp.class);
        byte[] error = new byte[ERROR_BYTES];
        Pointer client = offramp.offramp_connect(words[0], null, error);
        if (client == null) throw new IllegalStateException(Native.toString(error));
        Request[] requests = (Request[]) new Request().toArray(words.length - 1);
        for (int i = 0; i < requests.length; i++) {
            requests[i].tag = i + 1;
            requests[i].operation = INCR;
            requests[i].key = words[i + 1];
            requests[i].keyLength = words[i + 1].getBytes(StandardCharsets.UTF_8).length;
            requests[i].number = 1;
        }
        boolean lost = offramp.offramp_submit(client, requests, requests.length, error) != 0;
        Answer[] answers = (Answer[]) new Answer().toArray(16);
        while (!lost && offramp.offramp_pending(client) > 0) {
            long count = offramp.offramp_wait(client, 5000, error) == 1 ? offramp.offramp_poll(client, answers, 16, error) : -1;
            for (int i = 0; i < count; i++) System.out.println(words[(int) answers[i].tag] + " " + answers[i].number);
            lost = count < 0;
        }
        offramp.offramp_close(client);
        if (lost) throw new IllegalStateException(Native.toString(error));
    }
}
