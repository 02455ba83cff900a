/* SPDX-License-Identifier: Apache-2.0 */
/* The Portable NIC Architecture (draft of the PNA specification, as p4c's back ends for DPDK and bmv2 declare it). */
#ifndef _PNA_P4_
#define _PNA_P4_

#include "core.p4"
#include "portable/pna_types.p4"

enum PNA_IdleTimeout_t { NO_TIMEOUT, NOTIFY_CONTROL, AUTO_DELETE }

enum PNA_HashAlgorithm_t {
    IDENTITY,
    CRC32,
    CRC32_CUSTOM,
    CRC16,
    CRC16_CUSTOM,
    ONES_COMPLEMENT16,
    TOEPLITZ,
    TARGET_DEFAULT
}

#include "portable/externs.p4"

/* Where a packet comes from, and what it does next. */

#ifdef _PNA_BMV2
enum PNA_Source_t { FROM_HOST, FROM_NET }
#define _PNA_PASS bool recirculated;
#define _PNA_FROM bool is_network_port
extern bool is_host_port(in PortId_t p);
extern bool is_net_port(in PortId_t p);
#else
enum PNA_Direction_t { NET_TO_HOST, HOST_TO_NET }
enum PNA_PacketPath_t {
    FROM_NET_PORT,
    FROM_NET_LOOPEDBACK,
    FROM_NET_RECIRCULATED,
    FROM_HOST,
    FROM_HOST_LOOPEDBACK,
    FROM_HOST_RECIRCULATED
}
#define _PNA_PASS PNA_Direction_t direction; PassNumber_t pass; bool loopedback;
#define _PNA_FROM PNA_Direction_t direction

struct pna_pre_input_metadata_t {
    PortId_t input_port;
    ParserError_t parser_error;
    PNA_Direction_t direction;
    PassNumber_t pass;
    bool loopedback;
}

struct pna_pre_output_metadata_t {
    bool decrypt;
    SecurityAssocId_t said;
    bit<16> decrypt_start_offset;
}
#endif

struct pna_main_parser_input_metadata_t {
    _PNA_PASS
    PortId_t input_port;
}

struct pna_main_input_metadata_t {
    _PNA_PASS
    Timestamp_t timestamp;
    ParserError_t parser_error;
    ClassOfService_t class_of_service;
    PortId_t input_port;
}

struct pna_main_output_metadata_t {
    ClassOfService_t class_of_service;
}

extern void drop_packet();
extern void send_to_port(in PortId_t dest_port);
extern void mirror_packet(in MirrorSlotId_t mirror_slot_id, in MirrorSessionId_t mirror_session_id);
extern void recirculate();

@pure
extern T SelectByDirection<T>(in _PNA_FROM, in T n2h_value, in T h2n_value);

/* Entries that the data plane adds to the table that has just missed, and their time to live. */

#ifdef _PNA_BMV2
typedef bit<1> AddEntryErrorStatus_t;
const AddEntryErrorStatus_t ADD_ENTRY_SUCCESS = 0;
const AddEntryErrorStatus_t ADD_ENTRY_NOT_DONE = 1;
#define _ADDED AddEntryErrorStatus_t
#else
#define _ADDED bool
#endif

extern _ADDED add_entry<T>(string action_name, in T action_params, in ExpireTimeProfileId_t expire_time_profile_id);
extern _ADDED add_entry_if<T>(in bool do_add_entry,
                              string action_name,
                              in T action_params,
                              in ExpireTimeProfileId_t expire_time_profile_id);
extern FlowId_t allocate_flow_id();
extern void set_entry_expire_time(in ExpireTimeProfileId_t expire_time_profile_id);
extern void set_entry_expire_time_if(in bool condition, in ExpireTimeProfileId_t expire_time_profile_id);
extern void restart_expire_timer();
extern void update_expire_info(in bool update_aging_info,
                               in bool update_expire_time,
                               in ExpireTimeProfileId_t expire_time_profile_id);

#ifndef _PNA_BMV2
/* DPDK's IPsec accelerator. */

enum ipsec_status { IPSEC_SUCCESS, IPSEC_ERROR }

extern ipsec_accelerator {
    ipsec_accelerator();
    void set_sa_index<T>(in T sa_index);
    void set_ip_header_offset<T>(in T offset);
    void enable();
    void disable();
    bool from_ipsec(out ipsec_status status);
}
#endif

/* The pipeline. */

parser MainParserT<MH, MM>(packet_in pkt,
                           out MH main_hdr,
                           inout MM main_user_meta,
                           in pna_main_parser_input_metadata_t istd);

control MainControlT<MH, MM>(inout MH main_hdr,
                             inout MM main_user_meta,
                             in pna_main_input_metadata_t istd,
                             inout pna_main_output_metadata_t ostd);

#ifdef _PNA_BMV2
control MainDeparserT<MH, MM>(packet_out pkt,
                              inout MH main_hdr,
                              in MM main_user_meta,
                              in pna_main_output_metadata_t ostd);

package PNA_NIC<MH, MM>(MainParserT<MH, MM> main_parser,
                        MainControlT<MH, MM> main_control,
                        MainDeparserT<MH, MM> main_deparser);
#else
control MainDeparserT<MH, MM>(packet_out pkt,
                              in MH main_hdr,
                              in MM main_user_meta,
                              in pna_main_output_metadata_t ostd);

control PreControlT<PH, PM>(in PH pre_hdr,
                            inout PM pre_user_meta,
                            in pna_pre_input_metadata_t istd,
                            inout pna_pre_output_metadata_t ostd);

package PNA_NIC<PH, PM, MH, MM>(MainParserT<MH, MM> main_parser,
                                PreControlT<PH, PM> pre_control,
                                MainControlT<MH, MM> main_control,
                                MainDeparserT<MH, MM> main_deparser);
#endif

#endif
