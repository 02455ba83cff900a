/* SPDX-License-Identifier: Apache-2.0 */
/* Externs without state of their own between packets, counters, meters, and what a deparser asks for. */
#ifndef _TOFINO_EXTERNS_P4_
#define _TOFINO_EXTERNS_P4_

#include "sizes.p4"

match_kind {
    range,
    selector,
#if __TARGET_TOFINO__ == 2
    dleft_hash,
#endif
    atcam_partition_index
}

/* --- parser and deparser --- */

/* One's complement sums of 16-bit words. verify() is the hardware's error bit: true when the sum is wrong. */
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    bool verify();
    bit<16> get();
    void subtract_all_and_deposit<T>(out T residual);
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

extern ParserCounter {
    ParserCounter();
    void set<T>(in T value);
#if __TARGET_TOFINO__ == 2
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add);
    void push<T>(in T value, @optional bool update_with_top);
    void push<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add,
                 @optional bool update_with_top);
    void pop();
#else
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<3> mask, in bit<8> add);
#endif
    bool is_zero();
    bool is_negative();
    void increment(in bit<8> value);
    void decrement(in bit<8> value);
}

extern ParserPriority {
    ParserPriority();
    void set(in bit<3> prio);
}

/* A copy of the packet for a mirror session, with a header in front. */
extern Mirror {
    @deprecated("Give the mirror_type.") Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

/* The packet as it came in, once more through ingress, with up to 64 bits of data. */
extern Resubmit {
    @deprecated("Give the resubmit_type.") Resubmit();
    Resubmit(ResubmitType_t resubmit_type);
    void emit();
    void emit<T>(in T hdr);
}

extern Digest<T> {
    @deprecated("Give the digest_type.") Digest();
    Digest(DigestType_t digest_type);
    void pack(in T data);
}

#if __TARGET_TOFINO__ == 2
extern Pktgen {
    Pktgen();
    void emit<T>(in T hdr);
}
#endif

extern T port_metadata_unpack<T>(packet_in pkt);

/* --- hashes, random numbers, functions --- */

enum HashAlgorithm_t { IDENTITY, RANDOM, XOR8, XOR16, XOR32, CRC8, CRC16, CRC32, CRC64, CUSTOM }

extern CRCPolynomial<T> {
    CRCPolynomial(T coeff, bool reversed, bool msb, bool extended, T init, T xor);
}

extern Hash<W> {
    Hash(HashAlgorithm_t algo);
    Hash(HashAlgorithm_t algo, CRCPolynomial<_> poly);
    W get<D>(in D data);
}

extern Random<W> {
    Random();
    W get();
}

extern T max<T>(in T t1, in T t2);
extern T min<T>(in T t1, in T t2);
extern void funnel_shift_right<T>(inout T dst, in T src1, in T src2, int shift_amount);
extern void invalidate<T>(in T field);
extern bool is_validated<T>(in T field);
extern bit<32> sizeInBits<H>(in H h);
extern bit<32> sizeInBytes<H>(in H h);

/* --- counters and meters --- */

enum CounterType_t { PACKETS, BYTES, PACKETS_AND_BYTES }
enum MeterType_t { PACKETS, BYTES }
enum bit<8> MeterColor_t { GREEN = 0, YELLOW = 1, RED = 3 }

#if __TARGET_TOFINO__ == 2
#define _TRUE_EGRESS , @optional bool true_egress_accounting
#else
#define _TRUE_EGRESS
#endif

extern Counter<W, I> {
    Counter(bit<32> size, CounterType_t type _TRUE_EGRESS);
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectCounter<W> {
    DirectCounter(CounterType_t type _TRUE_EGRESS);
    void count(@optional in bit<32> adjust_byte_count);
}

extern Meter<I> {
    Meter(bit<32> size, MeterType_t type _TRUE_EGRESS);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green _TRUE_EGRESS);
    bit<8> execute(in I index, in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectMeter {
    DirectMeter(MeterType_t type _TRUE_EGRESS);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green _TRUE_EGRESS);
    bit<8> execute(in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(@optional in bit<32> adjust_byte_count);
}

extern Lpf<T, I> {
    Lpf(bit<32> size);
    T execute(in T val, in I index);
}

extern DirectLpf<T> {
    DirectLpf();
    T execute(in T val);
}

extern Wred<T, I> {
    Wred(bit<32> size, bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val, in I index);
}

extern DirectWred<T> {
    DirectWred(bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val);
}

/* --- how a table is implemented --- */

extern ActionProfile {
    ActionProfile(bit<32> size);
}

extern Atcam {
    Atcam(@optional bit<32> number_partitions);
}

extern Alpm {
    Alpm(@optional bit<32> number_partitions, @optional bit<32> subtrees_per_partition,
         @optional bit<32> atcam_subset_width, @optional bit<32> shift_granularity);
}

#if __TARGET_TOFINO__ == 2
extern IdleTimeout {
    IdleTimeout();
}
#endif

#endif
