/* SPDX-License-Identifier: Apache-2.0 */
/* The programmable blocks of a pipe, and the chip. */
#ifndef _TOFINO_PIPELINE_P4_
#define _TOFINO_PIPELINE_P4_

#include "metadata.p4"
#include "externs.p4"
#include "stateful.p4"

parser IngressParserT<H, M>(packet_in pkt,
                            out H hdr,
                            out M ig_md,
                            @optional out ingress_intrinsic_metadata_t ig_intr_md,
                            @optional out ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm,
                            @optional out ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr);

control IngressT<H, M>(inout H hdr,
                       inout M ig_md,
                       @optional in ingress_intrinsic_metadata_t ig_intr_md,
                       @optional in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
                       @optional inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                       @optional inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm
#if __TARGET_TOFINO__ == 2
                       , @optional in ghost_intrinsic_metadata_t gh_intr_md
#endif
                       );

control IngressDeparserT<H, M>(packet_out pkt,
                               inout H hdr,
                               in M metadata,
                               @optional in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
                               @optional in ingress_intrinsic_metadata_t ig_intr_md);

parser EgressParserT<H, M>(packet_in pkt,
                           out H hdr,
                           out M eg_md,
                           @optional out egress_intrinsic_metadata_t eg_intr_md,
                           @optional out egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
                           @optional out egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr);

control EgressT<H, M>(inout H hdr,
                      inout M eg_md,
                      @optional in egress_intrinsic_metadata_t eg_intr_md,
                      @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
                      @optional inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
                      @optional inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport);

control EgressDeparserT<H, M>(packet_out pkt,
                              inout H hdr,
                              in M metadata,
                              @optional in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
                              @optional in egress_intrinsic_metadata_t eg_intr_md,
                              @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr);

#if __TARGET_TOFINO__ == 2
control GhostT(in ghost_intrinsic_metadata_t gh_intr_md);
#endif

/* @namespace: the control plane knows what a pipeline contains by the pipeline's name. */
@namespace
package Pipeline<IH, IM, EH, EM>(IngressParserT<IH, IM> ingress_parser,
                                 IngressT<IH, IM> ingress,
                                 IngressDeparserT<IH, IM> ingress_deparser,
                                 EgressParserT<EH, EM> egress_parser,
                                 EgressT<EH, EM> egress,
                                 EgressDeparserT<EH, EM> egress_deparser
#if __TARGET_TOFINO__ == 2
                                 , @optional GhostT ghost
#endif
                                 );

#if __TARGET_TOFINO__ == 2
@pkginfo(arch="T2NA", version="1.0.1")
#else
@pkginfo(arch="TNA", version="2.0.1")
#endif
package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    Pipeline<IH0, IM0, EH0, EM0> pipe0,
    @optional Pipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional Pipeline<IH2, IM2, EH2, EM2> pipe2,
    @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);

/* A parser of its own for each of a pipe's 18 channels. */
#define _PARSERS(T) \
    T<H, M> prsr0, @optional T<H, M> prsr1, @optional T<H, M> prsr2, @optional T<H, M> prsr3, \
    @optional T<H, M> prsr4, @optional T<H, M> prsr5, @optional T<H, M> prsr6, @optional T<H, M> prsr7, \
    @optional T<H, M> prsr8, @optional T<H, M> prsr9, @optional T<H, M> prsr10, @optional T<H, M> prsr11, \
    @optional T<H, M> prsr12, @optional T<H, M> prsr13, @optional T<H, M> prsr14, @optional T<H, M> prsr15, \
    @optional T<H, M> prsr16, @optional T<H, M> prsr17

package IngressParsers<H, M>(_PARSERS(IngressParserT));
package EgressParsers<H, M>(_PARSERS(EgressParserT));

@namespace
package MultiParserPipeline<IH, IM, EH, EM>(IngressParsers<IH, IM> ig_prsr,
                                            IngressT<IH, IM> ingress,
                                            IngressDeparserT<IH, IM> ingress_deparser,
                                            EgressParsers<EH, EM> eg_prsr,
                                            EgressT<EH, EM> egress,
                                            EgressDeparserT<EH, EM> egress_deparser);

package MultiParserSwitch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    MultiParserPipeline<IH0, IM0, EH0, EM0> pipe0,
    @optional MultiParserPipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional MultiParserPipeline<IH2, IM2, EH2, EM2> pipe2,
    @optional MultiParserPipeline<IH3, IM3, EH3, EM3> pipe3);

#endif
