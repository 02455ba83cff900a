/* SPDX-License-Identifier: Apache-2.0 */
/* The externs that PSA and PNA have in common; the enums that their constructors take have names of their own. */
#ifdef _PSA_P4_
#define _HASH_ALGORITHM PSA_HashAlgorithm_t
#define _COUNTER_TYPE PSA_CounterType_t
#define _METER_TYPE PSA_MeterType_t
#define _METER_COLOR PSA_MeterColor_t
#else
#define _HASH_ALGORITHM PNA_HashAlgorithm_t
#define _COUNTER_TYPE PNA_CounterType_t
#define _METER_TYPE PNA_MeterType_t
#define _METER_COLOR PNA_MeterColor_t
#endif

match_kind {
    range,
    selector,
    optional
}

extern Hash<O> {
    Hash(_HASH_ALGORITHM algo);
    @pure
    O get_hash<D>(in D data);
    @pure
    O get_hash<T, D>(in T base, in D data, in T max);
}

extern Checksum<W> {
    Checksum(_HASH_ALGORITHM hash);
    void clear();
    void update<T>(in T data);
    @noSideEffects
    W get();
}

extern InternetChecksum {
    InternetChecksum();
    void clear();
    void add<T>(in T data);
    void subtract<T>(in T data);
    @noSideEffects
    bit<16> get();
    @noSideEffects
    bit<16> get_state();
    void set_state(in bit<16> checksum_state);
}

/* Counters and meters take the packet's length where a program says so, as DPDK's do. */

enum _COUNTER_TYPE { PACKETS, BYTES, PACKETS_AND_BYTES }

@noWarn("unused")
extern Counter<W, S> {
    Counter(bit<32> n_counters, _COUNTER_TYPE type);
    void count(in S index);
    void count(in S index, in bit<32> pkt_len);
}

@noWarn("unused")
extern DirectCounter<W> {
    DirectCounter(_COUNTER_TYPE type);
    void count();
    void count(in bit<32> pkt_len);
}

enum _METER_TYPE { PACKETS, BYTES }

enum _METER_COLOR { RED, GREEN, YELLOW }

extern Meter<S> {
    Meter(bit<32> n_meters, _METER_TYPE type);
    _METER_COLOR execute(in S index, in _METER_COLOR color);
    _METER_COLOR execute(in S index);
    _METER_COLOR dpdk_execute(in S index, in _METER_COLOR color, in bit<32> pkt_len);
    _METER_COLOR dpdk_execute(in S index, in bit<32> pkt_len);
}

extern DirectMeter {
    DirectMeter(_METER_TYPE type);
    _METER_COLOR execute(in _METER_COLOR color);
    _METER_COLOR execute();
    _METER_COLOR dpdk_execute(in _METER_COLOR color, in bit<32> pkt_len);
    _METER_COLOR dpdk_execute(in bit<32> pkt_len);
}

extern Register<T, S> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    @noSideEffects
    T read(in S index);
    void write(in S index, in T value);
}

extern Random<T> {
    Random(T min, T max);
    T read();
}

extern ActionProfile {
    ActionProfile(bit<32> size);
}

extern ActionSelector {
    ActionSelector(_HASH_ALGORITHM algo, bit<32> size, bit<32> outputWidth);
}

extern Digest<T> {
    Digest();
    void pack(in T data);
}
